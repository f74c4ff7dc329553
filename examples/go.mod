module meridian/examples

go 1.26.0

require (
	go.uber.org/goleak v1.3.0
	google.golang.org/grpc v1.85.0
	meridian v0.1.0
	meridian/sensor v0.1.0
	meridian/sensor/sensorgrpc v0.1.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
)

require (
	github.com/gomodule/redigo v1.9.3
	github.com/nats-io/nats.go v1.55.0
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	meridian/clock v0.1.0 // indirect
)

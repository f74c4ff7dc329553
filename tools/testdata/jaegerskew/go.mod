module jaegerskew

go 1.26

require github.com/jaegertracing/jaeger v1.62.0

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	go.opentelemetry.io/otel v1.30.0 // indirect
	go.opentelemetry.io/otel/trace v1.30.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.0 // indirect
)

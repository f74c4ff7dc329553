package kernel

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// socketPrograms are the programs of [Sockets], in the order in which they are attached: at the tracepoints that kernels have since 6.3.
var socketPrograms = []string{"sock_recv_length", "sock_send_length"}

// socketEnds are those at the ends of TCP's own functions (fexit), for kernels without these tracepoints.
var socketEnds = []string{"end_tcp_recvmsg", "end_tcp_sendmsg"}

// tracepointOf returns the arguments that a tracepoint gives to programs, the first of which is the tracer's own; nil where
// this kernel does not have it.
func tracepointOf(types *btf.Spec, name string) []btf.FuncParam {
	var named *btf.Typedef
	if types.TypeByName("btf_trace_"+name, &named) != nil {
		return nil
	}
	if pointer, ok := named.Type.(*btf.Pointer); ok {
		if f, ok := pointer.Target.(*btf.FuncProto); ok {
			return f.Params
		}
	}
	return nil
}

// functionOf returns the parameters of one of the kernel's functions; nil where its types do not have it.
func functionOf(types *btf.Spec, name string) []btf.FuncParam {
	var f *btf.Func
	if types.TypeByName(name, &f) != nil {
		return nil
	}
	if proto, ok := f.Type.(*btf.FuncProto); ok {
		return proto.Params
	}
	return nil
}

// socketsBy returns the programs that record sockets on a kernel of these types, and the constants that they need. ByFunctions leaves
// the tracepoints out.
func socketsBy(types *btf.Spec, byFunctions bool) (programs []string, constants map[string]any, err error) {
	if !byFunctions && tracepointOf(types, "sock_send_length") != nil && tracepointOf(types, "sock_recv_length") != nil {
		return socketPrograms, nil, nil
	}
	sends, receives := functionOf(types, "tcp_sendmsg"), functionOf(types, "tcp_recvmsg")
	flags := -1
	for i := range receives {
		if receives[i].Name == "flags" {
			flags = i
		}
	}
	if len(sends) != 3 || len(receives) < 4 || len(receives) > 6 || flags != 3 && flags != 4 {
		return nil, nil, errors.New("this kernel has neither the tracepoints sock_send_length and sock_recv_length (Linux 6.3) nor tcp_sendmsg and tcp_recvmsg with known arguments")
	}
	return socketEnds, map[string]any{"recv_flags_at": uint32(flags), "recv_result_at": uint32(len(receives))}, nil
}

// unsocketed says why sockets are not recorded.
func unsocketed(err error) error {
	return fmt.Errorf("what threads send and receive on TCP connections is not recorded: %w", err)
}

// The kernel's types as far as the recorder reads them, and the helpers that it calls. Fields are found on the machine
// where the program is loaded, by name (CO-RE), so only names and kinds matter here, neither places nor sizes.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

// Maps are declared as BTF: a type, so many entries, a kind of key and of value.
#define NUMBER(name, value) int(*name)[value]
#define KIND(name, type) type *name

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERF_EVENT_ARRAY = 4, MAP_PERCPU_ARRAY = 6, MAP_ARRAY_OF_MAPS = 12, MAP_RINGBUF = 27 };

// uapi/linux/bpf.h, enum bpf_func_id.
static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_perf_event_read)(void *map, u64 flags) = (void *)22;
static long (*bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*bpf_this_cpu_ptr)(const void *variable) = (void *)154;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;

enum { RB_NO_WAKEUP = 1 };
enum { NOEXIST = 1 }; // BPF_NOEXIST
#define CURRENT_CPU 0xffffffffu // BPF_F_CURRENT_CPU

#define has(field) __builtin_preserve_field_info(field, 2) // BPF_FIELD_EXISTS

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	char name[16];
	possible_net_t nd_net;
};
struct sk_buff {
	struct net_device *dev;
	u32 len;
	u16 protocol; // in network byte order
	u16 network_header;
	u32 tail; // from head, as on all 64-bit machines
	u8 *head, *data;
};
struct napi_struct {
	struct net_device *dev;
};

struct kernfs_node {
	u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};

struct thread_info {
	u32 cpu;    // on x86 since 5.16
	u32 status; // on x86 alone
};
struct thread_info___counts { // on arm64 and others; x86 has a variable of each processor
	u32 preempt_count;
};
struct sched_entity {
	u8 sched_delayed; // since 6.12: it sleeps, and is on the queue still
};
struct task_struct {
	struct thread_info thread_info;
	s32 on_rq;
	struct sched_entity se;
	s32 pid, tgid; // of a thread and of its process, as the kernel has it
	s32 prio;
	u32 __state;
	char comm[16];
	struct css_set *cgroups;
};
struct gendisk {
	s32 major, first_minor;
	char disk_name[32];
};
struct request_queue {
	struct gendisk *disk; // since 5.15
};
struct request {
	struct request_queue *q;
	u32 cmd_flags, __data_len;
	u64 __sector;
};
struct request___old { // before 5.17
	struct gendisk *rq_disk;
};
struct in6_addr {
	u8 bytes[16];
};
struct sock_common {
	u16 skc_family, skc_dport, skc_num; // dport in network byte order
	u32 skc_daddr, skc_rcv_saddr;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	possible_net_t skc_net;
};
struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	u8 sk_shutdown;
};
struct tcp_sock {
	u32 write_seq, copied_seq, rcv_nxt;
};
struct task_struct___old { // before 5.14, and before 5.16
	long state;
	u32 cpu;
};
struct linux_binprm {
	const char *filename;
};
struct irqaction {
	const char *name;
};

struct pt_regs {
	int nothing;
};
struct pt_regs___x86 {
	u64 di, si, dx, r10, r8, r9, orig_ax;
};
struct pt_regs___arm {
	u64 regs[31];
	s32 syscallno;
};

#pragma clang attribute pop

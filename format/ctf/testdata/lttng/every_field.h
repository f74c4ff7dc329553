/* Tracepoints with every type of field that lttng-ust has. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER meridian_test

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./every_field.h"

#if !defined(EVERY_FIELD_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EVERY_FIELD_H

#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(meridian_test, color,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("RED", 1)
		lttng_ust_field_enum_value("GREEN", 2)
		lttng_ust_field_enum_range("BLUES", 10, 20)
		lttng_ust_field_enum_range("DARK", 18, 30)
		lttng_ust_field_enum_value("odd \"name\"", 40)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, integers,
	LTTNG_UST_TP_ARGS(int64_t, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, i8, v)
		lttng_ust_field_integer(uint8_t, u8, v)
		lttng_ust_field_integer(int16_t, i16, v)
		lttng_ust_field_integer(uint16_t, u16, v)
		lttng_ust_field_integer(int32_t, i32, v)
		lttng_ust_field_integer(uint32_t, u32, v)
		lttng_ust_field_integer(int64_t, i64, v)
		lttng_ust_field_integer(uint64_t, u64, v)
		lttng_ust_field_integer_hex(int8_t, x8, v)
		lttng_ust_field_integer_hex(uint16_t, x16, v)
		lttng_ust_field_integer_hex(int32_t, x32, v)
		lttng_ust_field_integer_hex(uint64_t, x64, v)
		lttng_ust_field_integer_network(int16_t, n16, v)
		lttng_ust_field_integer_network(uint32_t, n32, v)
		lttng_ust_field_integer_network_hex(uint16_t, nx16, v)
		lttng_ust_field_integer_nowrite(int, kept_out, v)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, floats,
	LTTNG_UST_TP_ARGS(float, f, double, d),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint8_t, before, 7)
		lttng_ust_field_float(float, f, f)
		lttng_ust_field_float(double, d, d)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, texts,
	LTTNG_UST_TP_ARGS(const char *, s, const char *, fixed, size_t, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(s, s)
		lttng_ust_field_array_text(char, fixed, fixed, 8)
		lttng_ust_field_sequence_text(char, counted, s, size_t, n)
		lttng_ust_field_string(_underscored, fixed)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, arrays,
	LTTNG_UST_TP_ARGS(const int32_t *, v, size_t, n, const uint8_t *, bytes, const int16_t *, shorts),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(int32_t, array, v, 3)
		lttng_ust_field_array_hex(uint8_t, bytes, bytes, 6)
		lttng_ust_field_array_network(int16_t, net, shorts, 2)
		lttng_ust_field_array_network_hex(int16_t, net_hex, shorts, 2)
		lttng_ust_field_sequence(int32_t, list, v, size_t, n)
		lttng_ust_field_sequence_hex(uint8_t, blob, bytes, uint8_t, n)
		lttng_ust_field_sequence_network(int16_t, net_list, shorts, uint16_t, n)
		lttng_ust_field_sequence_network_hex(int16_t, net_hex_list, shorts, uint32_t, n)
		lttng_ust_field_sequence(uint64_t, wide, (const uint64_t *) v, size_t, n / 2)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, enumerations,
	LTTNG_UST_TP_ARGS(int, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_enum(meridian_test, color, int, color, v)
		lttng_ust_field_enum(meridian_test, color, unsigned char, small, v)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(meridian_test, nothing, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>

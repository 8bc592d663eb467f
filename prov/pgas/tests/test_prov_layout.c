/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout that direct programs have compiled in, compared with the one recorded for its version. When you change a
 * structure or constant of pgas_types.h, raise PGAS_LAYOUT_VERSION and append a line to `recorded`; never change an
 * existing line, because programs with that version exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pgas/pgas_types.h>

static const struct {
	unsigned version;
	uint64_t hash;
} recorded[] = {
	{2, 0xde1e700490979ec8}, {3, 0x289e5123bfd3e850}, {4, 0x5a71f33c00188a3b},
	{5, 0x940881053ae9ad09}, {6, 0x8175149bb55a4fc6},
};

struct item {
	const char *name;
	uint64_t offset;
	uint64_t bytes;
};

#define FIELD(type_arg, field_arg)                                                                                     \
	{                                                                                                              \
#type_arg "." #field_arg, offsetof(struct type_arg, field_arg),                                        \
			sizeof(((struct type_arg *)0)->field_arg)                                                      \
	}
#define WHOLE(type_arg)                                                                                                \
	{                                                                                                              \
#type_arg, 0, sizeof(struct type_arg)                                                                  \
	}
#define VALUE(name_arg)                                                                                                \
	{                                                                                                              \
#name_arg, name_arg, 0                                                                                 \
	}

static const struct item layout[] = {
	WHOLE(pgas_counter),
	FIELD(pgas_counter, value),
	FIELD(pgas_counter, error),
	WHOLE(pgas_ep),
	FIELD(pgas_ep, hot_inject),
	FIELD(pgas_ep, hot_rma),
	FIELD(pgas_ep, hot_send),
	FIELD(pgas_ep, wr_cntr),
	FIELD(pgas_ep, rd_cntr),
	FIELD(pgas_ep, tx_cntr),
	FIELD(pgas_ep, peer),
	FIELD(pgas_ep, check),
	FIELD(pgas_ep, rank_limit),
	FIELD(pgas_ep, op_flags),
	FIELD(pgas_ep, core),
	FIELD(pgas_ep, unbound_),
	FIELD(pgas_ep, bias),
	FIELD(pgas_ep, window_guard_),
	FIELD(pgas_ep, window[0]),
	WHOLE(pgas_cntr),
	FIELD(pgas_cntr, hot_read),
	FIELD(pgas_cntr, count),
	WHOLE(pgas_cq),
	FIELD(pgas_cq, hot_read),
	FIELD(pgas_cq, poll),
	FIELD(pgas_cq, poll_ready),
	FIELD(pgas_cq, queued),
	WHOLE(pgas_peer_hot),
	FIELD(pgas_peer_hot, ring),
	FIELD(pgas_peer_hot, door),
	FIELD(pgas_peer_hot, mask),
	FIELD(pgas_peer_hot, owner),
	FIELD(pgas_peer_hot, meta),
	WHOLE(pgas_window_check),
	FIELD(pgas_window_check, bound8),
	FIELD(pgas_window_check, base),
	FIELD(pgas_window_check, live),
	FIELD(pgas_window_check, live_value),
	WHOLE(pgas_slot),
	FIELD(pgas_slot, state),
	FIELD(pgas_slot, meta),
	FIELD(pgas_slot, len),
	FIELD(pgas_slot, tag),
	FIELD(pgas_slot, data),
	FIELD(pgas_slot, payload),
	FIELD(pgas_slot, plain),
	WHOLE(pgas_ring),
	FIELD(pgas_ring, tail_hint),
	FIELD(pgas_ring, head),
	WHOLE(pgas_door),
	FIELD(pgas_door, sleepers),
	FIELD(pgas_door, seq),
	VALUE(PGAS_FRONT_EP_OFF),
	VALUE(PGAS_FRONT_OFF),
	VALUE(PGAS_INJECT_BYTES),
	VALUE(PGAS_SLOT_BYTES),
	VALUE(PGAS_SLOT_INLINE),
	VALUE(PGAS_SLOT_PLAIN),
	VALUE(PGAS_ANNEX_BYTES),
	VALUE(PGAS_SLOT_POS_SHIFT),
	VALUE(PGAS_SLOT_OWNER_SHIFT),
	VALUE(PGAS_SLOT_FREE),
	VALUE(PGAS_SLOT_BUSY),
	VALUE(PGAS_SLOT_READY),
	VALUE(PGAS_KIND_MSG),
	VALUE(PGAS_KIND_TAGGED),
	VALUE(PGAS_SLOT_CQ_DATA),
	VALUE(PGAS_SLOT_ANNEX),
	VALUE(PGAS_META_KIND_SHIFT),
	VALUE(PGAS_META_FLAGS_SHIFT),
	VALUE(PGAS_META_AUX_SHIFT),
	VALUE(PGAS_RING_SLOTS_OFF),
};
enum { ITEMS = sizeof(layout) / sizeof(layout[0]) };

/* FNV-1a over names, offsets and sizes, the same on every 64-bit machine. */
static uint64_t hash_of(const struct item *items, size_t count)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < count; i++) {
		char line[160];
		const int len = snprintf(line, sizeof(line), "%s %llu %llu\n", items[i].name,
					 (unsigned long long)items[i].offset, (unsigned long long)items[i].bytes);
		for (int c = 0; c < len; c++)
			hash = (hash ^ (unsigned char)line[c]) * 0x100000001b3u;
	}
	return hash;
}

static void test_layout_of_this_version_is_the_recorded_one(void **state)
{
	(void)state;
	const uint64_t hash = hash_of(layout, ITEMS);
	for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
		if (recorded[i].version == PGAS_LAYOUT_VERSION && recorded[i].hash == hash)
			return;
	for (size_t i = 0; i < ITEMS; i++)
		print_message("%-28s at %4llu, %4llu bytes\n", layout[i].name, (unsigned long long)layout[i].offset,
			      (unsigned long long)layout[i].bytes);
	fail_msg("the layout of pgas_types.h changed: raise PGAS_LAYOUT_VERSION (now %u) and append its hash 0x%016llx",
		 PGAS_LAYOUT_VERSION, (unsigned long long)hash);
}

static void test_recorded_versions_only_grow(void **state)
{
	(void)state;
	const size_t last = sizeof(recorded) / sizeof(recorded[0]) - 1;
	assert_int_equal(recorded[last].version, PGAS_LAYOUT_VERSION);
	for (size_t i = 1; i <= last; i++)
		assert_true(recorded[i].version > recorded[i - 1].version);
}

static void test_hash_sees_a_moved_a_grown_and_a_renamed_field(void **state)
{
	(void)state;
	struct item changed[ITEMS];
	const uint64_t hash = hash_of(layout, ITEMS);
	for (size_t i = 0; i < ITEMS; i++) {
		memcpy(changed, layout, sizeof(layout));
		changed[i].offset += 8;
		assert_true(hash_of(changed, ITEMS) != hash);
		memcpy(changed, layout, sizeof(layout));
		changed[i].bytes += 4;
		assert_true(hash_of(changed, ITEMS) != hash);
		memcpy(changed, layout, sizeof(layout));
		changed[i].name = "another";
		assert_true(hash_of(changed, ITEMS) != hash);
	}
}

static void test_magic_words_carry_the_version_and_differ(void **state)
{
	(void)state;
	const uint32_t words[] = {PGAS_MAGIC_HOT, PGAS_MAGIC_SHARED, PGAS_MAGIC_OWN};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(words[i] & 0xff, PGAS_LAYOUT_VERSION);
		assert_true(words[i] % 8 != 0); /* never the low half of a pointer, see PGAS_FRONT_OFF */
		for (size_t j = 0; j < i; j++)
			assert_true(words[i] != words[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout_of_this_version_is_the_recorded_one),
		cmocka_unit_test(test_recorded_versions_only_grow),
		cmocka_unit_test(test_hash_sees_a_moved_a_grown_and_a_renamed_field),
		cmocka_unit_test(test_magic_words_carry_the_version_and_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

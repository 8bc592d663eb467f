// SPDX-License-Identifier: BSD-3-Clause
//
// The provider's own functions for the case that libfabric has not loaded it: copies of fi_info that libfabric can
// free, and vice versa; error texts; the choice between libfabric's calls and our own.
#include "support/pgas_libfabric.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <cmocka.h>
}
#include <rdma/fi_errno.h>

namespace pgas {
fi_provider g_provider = {};
} // namespace pgas

namespace {

using pgas::own_info_dup;
using pgas::own_info_free;

int g_nics = 0; // not freed yet

int nic_close(fid *f)
{
	free(f);
	g_nics--;
	return 0;
}

int nic_control(fid *f, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	auto *copy = static_cast<fid_nic *>(malloc(sizeof(fid_nic)));
	memcpy(copy, f, sizeof *copy);
	*static_cast<fid_nic **>(arg) = copy;
	g_nics++;
	return 0;
}

fi_ops g_nic_ops = {sizeof(fi_ops), nic_close, nullptr, nic_control, nullptr, nullptr, nullptr};

template <class T>
T *bytes_of(const char *text)
{
	return static_cast<T *>(static_cast<void *>(strdup(text)));
}

// Fills every part of which a copy must have its own.
fi_info *full(fi_info *i)
{
	i->caps = FI_RMA | FI_ATOMIC;
	i->src_addr = bytes_of<void>("source");
	i->src_addrlen = 7;
	i->dest_addr = bytes_of<void>("target");
	i->dest_addrlen = 7;
	i->handle = reinterpret_cast<fid *>(&g_nic_ops); // copied as is
	i->tx_attr->size = 11;
	i->rx_attr->size = 12;
	i->ep_attr->max_msg_size = 13;
	i->ep_attr->auth_key = bytes_of<uint8_t>("key of ep");
	i->ep_attr->auth_key_size = 9;
	i->domain_attr->name = strdup("domain");
	i->domain_attr->auth_key = bytes_of<uint8_t>("key of domain");
	i->domain_attr->auth_key_size = 13;
	i->fabric_attr->name = strdup("fabric");
	i->fabric_attr->prov_name = strdup("provider");
	auto *nic = static_cast<fid_nic *>(calloc(1, sizeof(fid_nic)));
	nic->fid.fclass = FI_CLASS_NIC;
	nic->fid.ops = &g_nic_ops;
	i->nic = nic;
	g_nics++;
	return i;
}

void compare(const fi_info *a, const fi_info *b)
{
	assert_ptr_not_equal(a, b);
	assert_int_equal(a->caps, b->caps);
	assert_null(b->next);
	assert_ptr_equal(a->handle, b->handle);
	assert_ptr_not_equal(a->src_addr, b->src_addr);
	assert_memory_equal(a->src_addr, b->src_addr, 7);
	assert_memory_equal(a->dest_addr, b->dest_addr, 7);
	assert_int_equal(b->tx_attr->size, 11);
	assert_int_equal(b->rx_attr->size, 12);
	assert_int_equal(b->ep_attr->max_msg_size, 13);
	assert_ptr_not_equal(a->ep_attr->auth_key, b->ep_attr->auth_key);
	assert_memory_equal(a->ep_attr->auth_key, b->ep_attr->auth_key, 9);
	assert_memory_equal(a->domain_attr->auth_key, b->domain_attr->auth_key, 13);
	assert_ptr_not_equal(a->domain_attr->name, b->domain_attr->name);
	assert_string_equal(b->domain_attr->name, "domain");
	assert_string_equal(b->fabric_attr->name, "fabric");
	assert_string_equal(b->fabric_attr->prov_name, "provider");
	assert_ptr_not_equal(a->nic, b->nic);
}

void test_info_copy_has_everything_of_its_own(void **)
{
	fi_info *a = full(own_info_dup(nullptr));
	a->next = own_info_dup(nullptr);
	fi_info *b = own_info_dup(a);
	compare(a, b);
	own_info_free(a); // both entries
	assert_string_equal(b->fabric_attr->prov_name, "provider");
	own_info_free(b);
	own_info_free(nullptr);
	assert_int_equal(g_nics, 0);
}

void test_info_without_parts_is_copied_without_them(void **)
{
	fi_info bare = {};
	bare.caps = FI_MSG;
	fi_info *b = own_info_dup(&bare);
	assert_int_equal(b->caps, FI_MSG);
	assert_null(b->tx_attr);
	assert_null(b->domain_attr);
	assert_null(b->nic);
	own_info_free(b);
}

// Each is freed by the other library's function: both keep the parts in the same places.
void test_info_of_ours_and_of_libfabric_are_the_same(void **)
{
	fi_info *ours = full(own_info_dup(nullptr));
	fi_info *theirs = fi_dupinfo(ours);
	compare(ours, theirs);
	fi_info *again = own_info_dup(theirs);
	compare(theirs, again);
	fi_freeinfo(ours);
	own_info_free(theirs);
	fi_freeinfo(again);
	assert_int_equal(g_nics, 0);
	fi_info *empty = fi_allocinfo(), *own = own_info_dup(nullptr);
	assert_memory_equal(empty->domain_attr, own->domain_attr, sizeof(fi_domain_attr));
	assert_memory_equal(empty->ep_attr, own->ep_attr, sizeof(fi_ep_attr));
	assert_memory_equal(empty->tx_attr, own->tx_attr, sizeof(fi_tx_attr));
	assert_memory_equal(empty->fabric_attr, own->fabric_attr, sizeof(fi_fabric_attr));
	fi_freeinfo(own);
	own_info_free(empty);
}

void test_errors_have_a_text_each(void **)
{
	for (int a = FI_EOTHER; a <= FI_ENORX; a++) {
		assert_string_not_equal(pgas::own_strerror(a), pgas::own_strerror(4711));
		for (int b = a + 1; b <= FI_ENORX; b++)
			assert_string_not_equal(pgas::own_strerror(a), pgas::own_strerror(b));
	}
	assert_string_equal(pgas::own_strerror(FI_ENOMEM), fi_strerror(FI_ENOMEM));
	assert_string_equal(pgas::own_strerror(-1), pgas::own_strerror(4711));
}

int g_dup_calls = 0;

fi_info *their_dup(const fi_info *info)
{
	g_dup_calls++;
	return fi_dupinfo(info);
}

void test_calls_are_libfabrics_until_it_ends(void **)
{
	pgas::libfabric_calls calls = {sizeof calls,   their_dup,       fi_freeinfo,  fi_strerror, fi_log,
				       fi_log_enabled, fi_param_define, fi_param_get, fi_version};
	assert_null(pgas::libfabric());
	assert_int_equal(pgas::libfabric_version(), 0);
	fi_info *before = pgas_info_dup(nullptr);
	assert_int_equal(g_dup_calls, 0);
	for (int round = 1; round <= 2; round++) {
		pgas::libfabric_take(calls);
		assert_int_equal(pgas::libfabric_version(), fi_version());
		fi_info *during = pgas_info_dup(before);
		assert_int_equal(g_dup_calls, round);
		assert_string_equal(pgas_strerror(FI_ETRUNC), fi_strerror(FI_ETRUNC));
		pgas::libfabric_leave();
		assert_null(pgas::libfabric());
		pgas_info_free(during);
	}
	assert_string_equal(pgas_strerror(FI_ETRUNC), pgas::own_strerror(FI_ETRUNC));
	pgas_info_free(before);
}

void test_network_is_the_libfabric_of_the_process(void **)
{
	std::string why;
	const pgas::libfabric_network *network = pgas::libfabric_load(why);
	assert_non_null(network);
	assert_string_equal(why.c_str(), "");
	assert_ptr_equal(network, pgas::libfabric_load(why));
	fi_info *made = network->dupinfo(nullptr);
	pgas::libfabric_info_free(made);
}

} // namespace

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_info_copy_has_everything_of_its_own),
		cmocka_unit_test(test_info_without_parts_is_copied_without_them),
		cmocka_unit_test(test_info_of_ours_and_of_libfabric_are_the_same),
		cmocka_unit_test(test_errors_have_a_text_each),
		cmocka_unit_test(test_calls_are_libfabrics_until_it_ends),
		cmocka_unit_test(test_network_is_the_libfabric_of_the_process),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}

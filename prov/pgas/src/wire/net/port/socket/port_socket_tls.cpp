// SPDX-License-Identifier: BSD-3-Clause
//
// Encryption of a line by the kernel (TLS 1.3 records, AES-128-GCM): the kernel gets the keys, and everything else
// stays the same. There is no cryptography here: HKDF-SHA256 of libcrypto, which is opened at run time, derives the
// keys from the job's secret, both nonces and both addresses; one key per direction. Both nonces are included, so no
// key is ever used twice; a process without the secret has no key, and its first record ends the line. There is no
// forward secrecy: anybody who learns the job's secret can read recorded traffic.
#include "port_socket.hpp"

#include <dlfcn.h>
#include <linux/tls.h>
#include <netinet/tcp.h>

#include <cstring>

namespace pgas {
namespace {

#ifndef TCP_ULP
constexpr int TCP_ULP = 31;
#endif
#ifndef SOL_TLS
constexpr int SOL_TLS = 282;
#endif
constexpr char kNoKernel[] = "FI_PGAS_NET_TLS=1: the kernel has no TLS here (modprobe tls)";

// --- libcrypto -------------------------------------------------------------------------------------------------------

// As in <openssl/core.h>, which not every system that runs this has.
struct crypto_param {
	const char *key;
	unsigned type;
	void *data;
	size_t bytes, returned;
};
constexpr unsigned kText = 4, kBytes = 5;
constexpr size_t kUnmodified = SIZE_MAX;

struct crypto_api {
	void *(*kdf_fetch)(void *library, const char *name, const char *properties);
	void (*kdf_free)(void *kdf);
	void *(*context_new)(void *kdf);
	void (*context_free)(void *context);
	int (*derive)(void *context, unsigned char *out, size_t bytes, const crypto_param *params);
};

template <class Function>
bool find(void *library, const char *name, Function &out)
{
	out = reinterpret_cast<Function>(dlsym(library, name));
	return out != nullptr;
}

// Null: not installed, or too old.
const crypto_api *crypto()
{
	static const crypto_api *const found = []() -> const crypto_api * {
		static crypto_api api;
		void *const library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
		return library && find(library, "EVP_KDF_fetch", api.kdf_fetch) &&
				       find(library, "EVP_KDF_free", api.kdf_free) &&
				       find(library, "EVP_KDF_CTX_new", api.context_new) &&
				       find(library, "EVP_KDF_CTX_free", api.context_free) &&
				       find(library, "EVP_KDF_derive", api.derive)
			       ? &api
			       : nullptr;
	}();
	return found;
}

// --- keys ------------------------------------------------------------------------------------------------------------

struct line_key {
	unsigned char key[TLS_CIPHER_AES_GCM_128_KEY_SIZE];
	unsigned char salt[TLS_CIPHER_AES_GCM_128_SALT_SIZE];
	unsigned char iv[TLS_CIPHER_AES_GCM_128_IV_SIZE];
};
static_assert(sizeof(line_key) == 28);

// Derives the key of what the caller writes, or the callee.
bool derive_key(const socket_port &p, const tls_parties &who, tls_side writer, line_key &out)
{
	const crypto_api *const api = crypto();
	uint64_t secret[2] = {p.secret[0], p.secret[1]};
	uint64_t salt[4] = {who.caller_nonce[0], who.caller_nonce[1], who.callee_nonce[0], who.callee_nonce[1]};
	std::string info = "pgas tls 1 ";
	info += writer == tls_side::caller ? 'c' : 's';
	for (const std::string *address : {&who.caller, &who.callee}) {
		info += static_cast<char>(address->size());
		info += *address;
	}
	char digest[] = "SHA2-256";
	const crypto_param params[] = {{"digest", kText, digest, sizeof digest - 1, kUnmodified},
				       {"key", kBytes, secret, sizeof secret, kUnmodified},
				       {"salt", kBytes, salt, sizeof salt, kUnmodified},
				       {"info", kBytes, info.data(), info.size(), kUnmodified},
				       {nullptr, 0, nullptr, 0, 0}};
	void *const kdf = api->kdf_fetch(nullptr, "HKDF", nullptr);
	void *const context = kdf ? api->context_new(kdf) : nullptr;
	const bool done = context &&
			  api->derive(context, reinterpret_cast<unsigned char *>(&out), sizeof out, params) > 0;
	if (context)
		api->context_free(context);
	if (kdf)
		api->kdf_free(kdf);
	return done;
}

// which: TLS_TX or TLS_RX
bool give_key(int fd, int which, const line_key &key)
{
	tls12_crypto_info_aes_gcm_128 info{};
	info.info.version = TLS_1_3_VERSION;
	info.info.cipher_type = TLS_CIPHER_AES_GCM_128;
	memcpy(info.key, key.key, sizeof info.key);
	memcpy(info.salt, key.salt, sizeof info.salt);
	memcpy(info.iv, key.iv, sizeof info.iv);
	return setsockopt(fd, SOL_TLS, which, &info, sizeof info) == 0;
}

bool attach_tls(int fd)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof "tls") == 0;
}

// Connects two sockets within this process, to try what the kernel supports.
bool loopback_pair(unique_fd &a, unique_fd &b)
{
	const unique_fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	a = unique_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	sockaddr_in place{};
	socklen_t len = sizeof place;
	place.sin_family = AF_INET;
	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	auto *const where = reinterpret_cast<sockaddr *>(&place);
	if (!listener || !a || bind(listener.get(), where, len) != 0 || listen(listener.get(), 1) != 0 ||
	    getsockname(listener.get(), where, &len) != 0 || connect(a.get(), where, len) != 0)
		return false;
	b = unique_fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
	return bool(b);
}

} // namespace

bool tls_begin(int fd, const socket_port &p, const tls_parties &who, std::string &why)
{
	line_key of_caller, of_callee;
	if (!derive_key(p, who, tls_side::caller, of_caller) || !derive_key(p, who, tls_side::callee, of_callee)) {
		why = "libcrypto made no keys (HKDF with SHA2-256)";
		return false;
	}
	const bool caller = who.ours == tls_side::caller;
	if (attach_tls(fd) && give_key(fd, TLS_TX, caller ? of_caller : of_callee) &&
	    give_key(fd, TLS_RX, caller ? of_callee : of_caller))
		return true;
	why = std::string(kNoKernel) + ": " + strerror(errno);
	return false;
}

bool tls_usable(std::string &why)
{
	if (!crypto()) {
		why = "FI_PGAS_NET_TLS=1: libcrypto.so.3 (OpenSSL 3) is not there, which makes the keys";
		return false;
	}
	unique_fd a, b;
	if (!loopback_pair(a, b)) {
		why = std::string("FI_PGAS_NET_TLS=1: no connection to try the kernel's TLS with: ") + strerror(errno);
		return false;
	}
	const line_key any{};
	if (attach_tls(a.get()) && give_key(a.get(), TLS_TX, any) && give_key(a.get(), TLS_RX, any))
		return true;
	why = std::string(kNoKernel) + ": " + strerror(errno);
	return false;
}

} // namespace pgas

// genscope._core.DiskTier and RedisTier: bytes by key. Every call goes without the GIL.
#include <genscope/optimize/cache_tiers.h>

#include <memory>
#include <string>

#include "optimize_key.h"

namespace genscope::python {
namespace {

template <class Tier>
using TierObject = Holder<std::unique_ptr<Tier>>;

PyTypeObject *g_disk_type = nullptr, *g_redis_type = nullptr;

template <class Tier>
PyObject* tier_get(PyObject* self, PyObject* object) {
  optimize::Key made;
  const optimize::Key* const key = key_of(object, made);
  if (key == nullptr) return nullptr;
  std::optional<std::string> bytes;
  {
    const WithoutGil released;
    bytes = TierObject<Tier>::of(self)->get(*key);
  }
  if (!bytes) return none();
  return PyBytes_FromStringAndSize(bytes->data(), static_cast<Py_ssize_t>(bytes->size()));
}

// put(key, bytes, ttl, /); ttl 0: never expires
template <class Tier>
PyObject* tier_put(PyObject* self, PyObject* args) {
  PyObject *object = nullptr, *bytes = nullptr;
  double ttl = 0;
  if (PyArg_ParseTuple(args, "OO!d", &object, &PyBytes_Type, &bytes, &ttl) == 0) return nullptr;
  optimize::Key made;
  const optimize::Key* const key = key_of(object, made);
  if (key == nullptr) return nullptr;
  const std::string_view content(PyBytes_AsString(bytes),
                                 static_cast<std::size_t>(PyBytes_Size(bytes)));
  bool kept = false;
  {
    const WithoutGil released;
    kept = TierObject<Tier>::of(self)->put(*key, content, ttl);
  }
  return PyBool_FromLong(kept ? 1 : 0);
}

template <class Tier>
PyObject* tier_erase(PyObject* self, PyObject* object) {
  optimize::Key made;
  const optimize::Key* const key = key_of(object, made);
  if (key == nullptr) return nullptr;
  bool erased = false;
  {
    const WithoutGil released;
    erased = TierObject<Tier>::of(self)->erase(*key);
  }
  return PyBool_FromLong(erased ? 1 : 0);
}

template <class Tier>
PyObject* tier_stats(PyObject* self, PyObject*) {
  using U = unsigned long long;
  const optimize::TierStats stats = TierObject<Tier>::of(self)->stats();
  const Ref error(stats.last_error.empty() ? none() : to_str(stats.last_error));
  if (!error) return nullptr;
  return Py_BuildValue("{sKsKsKsKsKsKsKsKsKsKsO}", "hits", static_cast<U>(stats.hits), "misses",
                       static_cast<U>(stats.misses), "writes", static_cast<U>(stats.writes),
                       "refused", static_cast<U>(stats.refused), "failures",
                       static_cast<U>(stats.failures), "damaged", static_cast<U>(stats.damaged),
                       "skipped", static_cast<U>(stats.skipped), "evicted",
                       static_cast<U>(stats.evicted), "entries", static_cast<U>(stats.entries),
                       "bytes", static_cast<U>(stats.bytes), "last_error", error.get());
}

PyObject* disk_clear(PyObject* self, PyObject*) {
  {
    const WithoutGil released;
    TierObject<optimize::DiskTier>::of(self)->clear();
  }
  return none();
}

// disk_tier(folder, capacity, /)
PyObject* disk_tier(PyObject*, PyObject* args) {
  const char* folder = nullptr;
  unsigned long long capacity = 0;
  if (PyArg_ParseTuple(args, "sK", &folder, &capacity) == 0) return nullptr;
  Result<std::unique_ptr<optimize::DiskTier>> tier = optimize::DiskTier::open(folder, capacity);
  if (!tier) return raise(tier.error());
  return TierObject<optimize::DiskTier>::make(g_disk_type, std::move(*tier));
}

// redis_tier(url, prefix, timeout, pause, /)
PyObject* redis_tier(PyObject*, PyObject* args) {
  const char *url = nullptr, *prefix = nullptr;
  optimize::RedisOptions options;
  if (PyArg_ParseTuple(args, "ssdd", &url, &prefix, &options.timeout_s, &options.pause_s) == 0)
    return nullptr;
  options.url = url;
  options.prefix = prefix;
  Result<std::unique_ptr<optimize::RedisTier>> tier = optimize::RedisTier::open(options);
  if (!tier) return raise(tier.error());
  return TierObject<optimize::RedisTier>::make(g_redis_type, std::move(*tier));
}

Method disk_methods[] = {
    reading<tier_get<optimize::DiskTier>>("get", METH_O, "The bytes, or None."),
    reading<tier_put<optimize::DiskTier>>("put", METH_VARARGS, "put(key, bytes, ttl, /)"),
    reading<tier_erase<optimize::DiskTier>>("erase", METH_O),
    reading<disk_clear>("clear", METH_NOARGS),
    reading<tier_stats<optimize::DiskTier>>("stats", METH_NOARGS),
    {},
};
Slot disk_slots[] = {
    Slot::dealloc<TierObject<optimize::DiskTier>::dealloc>(), Slot(disk_methods), {}};
constexpr TypeSpec disk_spec = {"genscope._core.DiskTier", sizeof(TierObject<optimize::DiskTier>),
                                disk_slots, kMadeHere};

Method redis_methods[] = {
    reading<tier_get<optimize::RedisTier>>("get", METH_O, "The bytes, or None."),
    reading<tier_put<optimize::RedisTier>>("put", METH_VARARGS, "put(key, bytes, ttl, /)"),
    reading<tier_erase<optimize::RedisTier>>("erase", METH_O),
    reading<tier_stats<optimize::RedisTier>>("stats", METH_NOARGS),
    {},
};
Slot redis_slots[] = {
    Slot::dealloc<TierObject<optimize::RedisTier>::dealloc>(), Slot(redis_methods), {}};
constexpr TypeSpec redis_spec = {"genscope._core.RedisTier",
                                 sizeof(TierObject<optimize::RedisTier>), redis_slots, kMadeHere};

Method optimize_tiers_functions[] = {
    reading<disk_tier>("disk_tier", METH_VARARGS, "disk_tier(folder, capacity, /)"),
    reading<redis_tier>("redis_tier", METH_VARARGS, "redis_tier(url, prefix, timeout, pause, /)"),
    {},
};

}  // namespace

bool add_optimize_tiers(PyObject* module) {
  g_disk_type = make_type(module, disk_spec);
  g_redis_type = make_type(module, redis_spec);
  return g_disk_type != nullptr && g_redis_type != nullptr &&
         add_functions(module, optimize_tiers_functions);
}

}  // namespace genscope::python

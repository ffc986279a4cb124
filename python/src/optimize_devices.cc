// DeviceManager for genscope.optimize.
#include <genscope/optimize/models.h>

#include <memory>
#include <vector>

#include "calls.h"
#include "entry.h"
#include "monitors.h"
#include "rows.h"

namespace genscope::python {
namespace {

using namespace genscope::optimize;

using DevicesObject = Holder<std::unique_ptr<DeviceManager>>;

PyObject* devices_new(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyArg_ParseTuple(args, "") == 0) return nullptr;
  std::unique_ptr<DeviceManager> manager;
  {
    const WithoutGil released;
    manager = std::make_unique<DeviceManager>();
  }
  return DevicesObject::make(type, std::move(manager));
}
PyObject* devices_list(PyObject* self, PyObject*) {
  std::vector<DeviceInfo> devices;
  {
    const WithoutGil released;
    devices = DevicesObject::of(self)->devices();
  }
  return list_of(devices, [](const DeviceInfo& row) {
    return Py_BuildValue("{sNsNsNsOsNsNsNsN}", "id", to_str(row.id), "name", to_str(row.name),
                         "vendor", to_str(row.vendor), "gpu", row.gpu ? Py_True : Py_False,
                         "total_bytes", bytes_or_none(row.total_bytes), "used_bytes",
                         bytes_or_none(row.used_bytes), "free_bytes", bytes_or_none(row.free_bytes),
                         "reason", to_str(row.reason));
  });
}
PyObject* devices_absent(PyObject* self, PyObject*) {
  return list_of(DevicesObject::of(self)->absent(), [](const DeviceManager::Absent& row) {
    return Py_BuildValue("{sNsNsN}", "source", to_str(row.source), "reason", to_str(row.reason),
                         "remedy", to_str(row.remedy));
  });
}

Method devices_methods[] = {
    reading<devices_list>("devices", METH_NOARGS),
    reading<devices_absent>("absent", METH_NOARGS),
    {},
};
Slot devices_slots[] = {
    Slot::made<devices_new, DevicesObject>(),
    Slot::dealloc<DevicesObject::dealloc>(),
    Slot(devices_methods),
    {},
};
constexpr TypeSpec devices_spec = {"genscope._core.DeviceManager", sizeof(DevicesObject),
                                   devices_slots};

}  // namespace

bool add_optimize_devices(PyObject* module) {
  return add_type(module, devices_spec, "DeviceManager");
}

}  // namespace genscope::python

/* The floor that genscope's spans are measured against: a C type whose `with` does nothing. */
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

static PyObject* enter(PyObject* self, PyObject* unused) {
  (void)unused;
  Py_INCREF(self);
  return self;
}
static PyObject* leave(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self, (void)args, (void)count;
  Py_INCREF(Py_None);
  return Py_None;
}
static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
static PyType_Spec spec = {"floor.Empty", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "floor", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_floor(void) {
  PyObject* module = PyModule_Create(&definition);
  PyObject* type = PyType_FromSpec(&spec);
  if (module == NULL || type == NULL || PyModule_AddObject(module, "Empty", type) != 0) return NULL;
  return module;
}

"""What pyproject.toml cannot say: the extension, and the tag cp39-abi3 of the wheel."""

from setuptools import setup

setup(
    cffi_modules=["native/build.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)

// The C library of the system under one name; the rest of the package imports the library only through this
// module.
#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#elseif canImport(Android)
  @_exported public import Android
#else
  #error("Dunlin does not know the C library of this system")
#endif

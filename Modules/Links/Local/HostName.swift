import Platform

/// The name of the machine that this process runs on.
package enum HostName {
  /// The longest name that POSIX systems have, and the zero after it.
  private static let byteLimit = 256

  /// The name without its domain; empty if the system has none.
  package static var own: String {
    var bytes = [CChar](repeating: 0, count: byteLimit)
    // The last byte stays zero, also where a longer name was cut.
    guard gethostname(&bytes, byteLimit - 1) == 0 else { return "" }
    let name = bytes.prefix { $0 != 0 && $0 != CChar(UInt8(ascii: ".")) }.map { UInt8(bitPattern: $0) }
    return String(decoding: name, as: UTF8.self)
  }
}

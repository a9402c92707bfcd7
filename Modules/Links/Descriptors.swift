import Platform

/// The number of file descriptors that the process can still open.
enum Descriptors {
  /// Tries whether so many descriptors can be opened now.
  ///
  /// - Returns: The system's error number when they cannot; otherwise `nil`.
  static func shortage(of count: Int) -> Int32? {
    var taken: [Int32] = []
    defer { for descriptor in taken { close(descriptor) } }
    for _ in 0..<count {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      if descriptor < 0 { return errno == EMFILE || errno == ENFILE ? errno : nil }
      taken.append(descriptor)
    }
    return nil
  }
}

import Foundation

/// An open file, read and written by the system's own calls, so that errors say what the system said.
///
/// Not thread-safe; one task uses it.
final class RawFile {
  let descriptor: Int32
  /// What errors call it.
  let name: String
  private let closesAtEnd: Bool

  /// Takes a descriptor that somebody else closes, or this one's end does.
  init(_ descriptor: Int32, name: String, closesAtEnd: Bool = false) {
    self.descriptor = descriptor
    self.name = name
    self.closesAtEnd = closesAtEnd
  }

  deinit { if closesAtEnd { close(descriptor) } }

  static var input: RawFile { RawFile(STDIN_FILENO, name: "standard input") }
  static var output: RawFile { RawFile(STDOUT_FILENO, name: "standard output") }

  /// Opens a file for reading.
  static func open(reading path: String) throws -> RawFile {
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, "cannot be opened for reading", errno) }
    let file = RawFile(descriptor, name: path, closesAtEnd: true)
    // Of a folder opening goes well, and reading does not.
    if try file.status().kind == .folder { throw failure(path, "cannot be read", EISDIR) }
    return file
  }

  func status() throws -> FileStatus {
    guard let status = FileStatus(descriptor: descriptor) else {
      throw Self.failure(name, "cannot be looked at", errno)
    }
    return status
  }

  /// Reads at most so many bytes; none at the end.
  func read(upTo count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    while true {
      let got = bytes.withUnsafeMutableBytes { Foundation.read(descriptor, $0.baseAddress, $0.count) }
      if got >= 0 {
        bytes.removeLast(count - got)
        return bytes
      }
      if errno != EINTR { throw Self.failure(name, "cannot be read", errno) }
    }
  }

  /// Writes all of the bytes.
  func write(_ bytes: [UInt8]) throws {
    var done = 0
    while done < bytes.count {
      let written = bytes.withUnsafeBytes { room in
        Foundation.write(descriptor, room.baseAddress.map { $0 + done }, room.count - done)
      }
      if written >= 0 {
        done += written
      } else if errno != EINTR {
        let failure = Self.failure(name, "cannot be written", errno)
        throw ToolError(failure.description, isAboutOutput: descriptor == STDOUT_FILENO)
      }
    }
  }

  /// Makes what was written durable.
  func sync() throws {
    guard fsync(descriptor) == 0 else { throw Self.failure(name, "cannot be written to the disk", errno) }
  }

  static func failure(_ name: String, _ what: String, _ number: Int32) -> ToolError {
    ToolError("\(name): \(what): \(String(cString: strerror(number)))")
  }
}

import Glibc

/// A forked copy of this process, and a pipe on which it reports.
///
/// The parent never opens a store and has one thread, so that the copy may do anything.
struct Child {
  let processID: pid_t
  /// The end of the pipe to read from.
  let descriptor: Int32

  enum Ending: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  /// Runs `body` in a copy of this process; it gets the end of the pipe to write to.
  ///
  /// What it throws reaches the parent as a line that begins with `!`.
  static func start(_ body: (Int32) throws -> Void) throws -> Child {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure(.harness, "no pipe: errno \(errno)") }
    let processID = fork()
    guard processID >= 0 else { throw Failure(.harness, "no fork: errno \(errno)") }
    if processID == 0 {
      close(ends[0])
      do {
        try body(ends[1])
        _exit(0)
      } catch {
        Child.write("!\(Failure(wrapping: error))\n", to: ends[1])
        _exit(1)
      }
    }
    close(ends[1])
    return Child(processID: processID, descriptor: ends[0])
  }

  /// Waits for the end, after the pipe has been read to its own.
  func wait() -> Ending {
    close(descriptor)
    var status: Int32 = 0
    while waitpid(processID, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? .exit((status >> 8) & 0xFF) : .signal(signal)
  }

  func kill() { _ = Glibc.kill(processID, SIGKILL) }

  /// Everything the child writes until it ends.
  func readAll() -> String {
    var bytes: [UInt8] = []
    while let more = read() { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The next bytes; `nil` at the end, and empty when nothing came in `timeout`.
  func read(timeout: Duration? = nil) -> [UInt8]? {
    if let timeout {
      var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let microseconds = Int(timeout / .microseconds(1))
      // The call counts in milliseconds, which is long beside a commit.
      if microseconds > 0, microseconds < 1_000 { usleep(UInt32(microseconds)) }
      guard poll(&state, 1, Int32(max(0, microseconds / 1_000))) > 0 else { return [] }
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = Glibc.read(descriptor, &buffer, buffer.count)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  static func write(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      start += count
    }
  }
}

extension Child {
  /// Runs `body` to its end in a copy of this process.
  ///
  /// - Returns: The lines it wrote.
  /// - Throws: What it threw; `crash` when a signal ended it.
  static func run(_ body: (Int32) throws -> Void) throws -> [Substring] {
    let child = try start(body)
    let lines = child.readAll().split(separator: "\n")
    switch child.wait() {
    case .exit(0): return lines
    case .signal(let number): throw Failure(.crash, "ended by signal \(number)")
    case .exit(let code):
      let line = lines.last { $0.hasPrefix("!") }?.dropFirst()
      throw line.map { Failure(parsing: String($0)) } ?? Failure(.crash, "ended with code \(code)")
    }
  }
}

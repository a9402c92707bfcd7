#if Server
  import Foundation

  /// The standard output of a program, for secrets that are not in a file.
  enum CommandOutput {
    /// The maximum time of a program.
    static let time = Duration.seconds(10)

    /// Runs a program without a shell, and returns its output.
    ///
    /// - Parameters:
    ///   - command: The program's absolute path, and its arguments.
    ///   - byteLimit: The maximum size of the output, in bytes.
    ///   - time: The maximum time of the program.
    /// - Returns: The text.
    /// - Throws: `BigPeerError` that names the program; it never contains the output.
    static func text(of command: [String], byteLimit: Int, time: Duration = time) throws -> String {
      guard let program = command.first else { throw BigPeerError("no program is named") }
      func failed(_ why: String) -> BigPeerError { BigPeerError("the program \(program) \(why)") }
      let deadline = ContinuousClock.now + time
      let child: Child
      do {
        child = try Child(program, command)
      } catch {
        throw failed("cannot be run: \(String(cString: strerror(error.number)))")
      }
      defer { child.end() }
      var bytes: [UInt8] = []
      while let more = child.read(until: deadline) {
        bytes += more
        guard bytes.count <= byteLimit else { throw failed("has written more than \(byteLimit) bytes") }
      }
      guard let status = child.status(until: deadline) else { throw failed("has not ended within \(time)") }
      guard status == 0 else { throw failed("has ended with status \(status)") }
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw failed("has written what is no text")
      }
      return text
    }
  }

  /// A process whose standard output is read; one thread uses it.
  private final class Child {
    /// Why the process could not be started, as an error number of the system.
    struct Failure: Error { let number: Int32 }

    private let process: pid_t
    private let output: Int32
    private var isOver = false

    init(_ program: String, _ arguments: [String]) throws(Failure) {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { throw Failure(number: errno) }
      defer { close(ends[1]) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
      #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
      #endif
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
      // The thread's own mask may block signals for it.
      var none = sigset_t()
      sigemptyset(&none)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
      var texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
      defer { for text in texts { free(text) } }
      var process: pid_t = 0
      let rc = posix_spawn(&process, program, &actions, &attributes, &texts, environ)
      guard rc == 0 else {
        close(ends[0])
        throw Failure(number: rc)
      }
      (self.process, output) = (process, ends[0])
    }

    /// The next bytes of the output; `nil` at its end, and when the time has expired.
    func read(until deadline: ContinuousClock.Instant) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while ContinuousClock.now < deadline {
        var waiting = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        let left = (deadline - ContinuousClock.now) / .milliseconds(1)
        guard poll(&waiting, 1, Int32(max(1, min(left, 1_000)))) > 0 else { continue }
        let count = bytes.withUnsafeMutableBytes { Foundation.read(output, $0.baseAddress, $0.count) }
        if count > 0 { return Array(bytes[..<count]) }
        if count == 0 || errno != EINTR { return nil }
      }
      return nil
    }

    /// The exit status, or 128 plus the signal; `nil` when the time has expired.
    func status(until deadline: ContinuousClock.Instant) -> Int32? {
      var status: Int32 = 0
      while waitpid(process, &status, WNOHANG) != process {
        guard ContinuousClock.now < deadline else { return nil }
        usleep(1_000)
      }
      isOver = true
      return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }

    /// Kills the process if it still runs.
    func end() {
      close(output)
      guard !isOver else { return }
      kill(process, SIGKILL)
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
    }
  }
#endif

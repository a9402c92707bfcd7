#if os(Linux)
  import Foundation
  import Glibc
  import Synchronization
  import TestKit

  /// A program that believes it is talking to a user at a terminal.
  final class PseudoTerminal {
    /// `TIOCSPTLCK` and `TIOCGPTN` of Linux, whose macros are not imported.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    private let process: Process
    private let master: Int32
    private let output = OutputBox()

    /// The program has ended before it showed what was waited for.
    struct Ended: Error {
      let shown: String
    }

    /// What has been shown so far.
    private final class OutputBox: Sendable {
      let text = Mutex("")
      /// Whether nothing more comes.
      let isOver = Mutex(false)
    }

    /// Starts the built `dunlin` on a terminal of so many columns.
    ///
    /// Control-C is typed as soon as `interruption` is shown, even while other tests keep this task waiting.
    init(
      _ arguments: [String], columns: UInt16 = 80, environment: [String: String] = [:],
      interruptingAt interruption: String? = nil
    ) throws {
      master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      var (lock, number) = (Int32(0), Int32(0))
      guard master >= 0, ioctl(master, Self.setLock, &lock) == 0, ioctl(master, Self.getNumber, &number) == 0
      else { throw POSIXError(.ENODEV) }
      let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
      guard slave >= 0 else { throw POSIXError(.ENODEV) }
      defer { close(slave) }
      var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      _ = ioctl(slave, UInt(TIOCSWINSZ), &size)
      process = Tool.process(arguments, environment: environment.merging(["TERM": "xterm"]) { $1 })
      let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
      (process.standardInput, process.standardOutput, process.standardError) = (handle, handle, handle)
      try process.run()
      let (master, output, id) = (master, output, process.processIdentifier)
      Thread.detachNewThread {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        var interruption = interruption
        while true {
          let count = bytes.withUnsafeMutableBytes { read(master, $0.baseAddress, $0.count) }
          guard count > 0 else {
            output.isOver.withLock { $0 = true }
            return
          }
          let text = String(decoding: bytes.prefix(count), as: UTF8.self)
          output.text.withLock { shown in
            shown += text
            guard let awaited = interruption, shown.contains(awaited) else { return }
            kill(id, SIGINT)
            interruption = nil
          }
        }
      }
    }

    deinit {
      process.end()
      close(master)
    }

    /// Types.
    func type(_ text: String) {
      let bytes = Array(text.utf8)
      _ = bytes.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    /// Interrupts the program, as the terminal's driver does while a statement runs.
    var interrupt: @Sendable () -> Void { { [id = process.processIdentifier] in kill(id, SIGINT) } }

    /// Waits until something is shown that was not there before the last wait ended.
    @discardableResult
    func wait(for text: String) async throws -> String {
      while true {
        let found = output.text.withLock { shown -> String? in
          guard let range = shown.range(of: text) else { return nil }
          defer { shown = String(shown[range.upperBound...]) }
          return String(shown[..<range.upperBound])
        }
        if let found { return found }
        try Task.checkCancellation()
        // What was shown may be read only after the program has ended.
        let isOver = output.isOver.withLock { $0 }
        guard !isOver || output.text.withLock({ $0.contains(text) }) else {
          throw Ended(shown: output.text.withLock { $0 })
        }
        await pause()
      }
    }

    /// Waits until the program has ended.
    func status() async -> Int32 {
      while process.isRunning { await pause() }
      return process.terminationStatus
    }
  }
#endif

#if Server
  import BenchmarkSupport
  import Foundation

  /// The benchmark's end of a process that it has started: this program again, with another command.
  final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer: [UInt8] = []
    /// What it said when it was ready.
    let greeting: Reply

    /// Starts it and waits until it is ready.
    init(_ arguments: [String]) throws {
      process.executableURL = Bundle.main.executableURL
      process.arguments = arguments
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      greeting = try Self.reply(output, &buffer, arguments[0])
    }

    deinit { if process.isRunning { process.terminate() } }

    /// Sends a request and waits for its answer.
    @discardableResult
    func ask(_ request: Request) throws -> Reply {
      try send(request)
      return try reply()
    }

    func send(_ request: Request) throws {
      try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(request) + [10])
    }

    func reply() throws -> Reply { try Self.reply(output, &buffer, process.arguments?.first ?? "") }

    private static func reply(_ output: Pipe, _ buffer: inout [UInt8], _ name: String) throws -> Reply {
      while true {
        if let end = buffer.firstIndex(of: 10) {
          let line = Data(buffer[..<end])
          buffer.removeFirst(end + 1)
          let reply = try JSONDecoder().decode(Reply.self, from: line)
          if let error = reply.error { throw BenchmarkError("the process \(name) failed: \(error)") }
          return reply
        }
        let piece = output.fileHandleForReading.availableData
        guard !piece.isEmpty else { throw BenchmarkError("the process \(name) ended early") }
        buffer += piece
      }
    }

    /// Ends the process in order.
    func quit() throws {
      try send(.quit)
      process.waitUntilExit()
      guard process.terminationStatus == 0 else {
        throw BenchmarkError("a process ended with status \(process.terminationStatus)")
      }
    }
  }

  /// The other end: answers requests from standard input.
  enum ChildLoop {
    /// Answers until it is told to quit.
    static func run(
      greeting: Reply, _ answer: (Request) async throws -> Reply
    ) async throws {
      let parent = getppid()
      let watch = Task {
        while getppid() == parent { try await Task.sleep(for: .seconds(1)) }
        _exit(1)  // Whoever asked is gone, whatever is under way here.
      }
      defer { watch.cancel() }
      try say(greeting)
      while let line = await nextLine() {
        let request = try JSONDecoder().decode(Request.self, from: Data(line.utf8))
        if case .quit = request { break }
        do {
          try say(try await answer(request))
        } catch {
          try say(Reply(error: "\(error)"))
        }
      }
    }

    /// What any process can tell of itself.
    static var state: Reply {
      Reply(figures: [
        "cpuSeconds": Measures.cpuSeconds, "heldBytes": Measures.heldBytes,
        "peakResidentBytes": Measures.peakResidentBytes,
      ])
    }

    private static func say(_ reply: Reply) throws {
      try FileHandle.standardOutput.write(contentsOf: try JSONEncoder().encode(reply) + [10])
    }

    private static func nextLine() async -> String? {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: readLine()) }
      }
    }
  }
#endif

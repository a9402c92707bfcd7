import Foundation
import TestKit
import Testing

/// The tool where the system gives it little: file descriptors, address space.
@Suite(.serialized) struct ScarcityTests {
  let directory: TemporaryDirectory
  var store: String { directory.file("store") }

  init() throws {
    directory = try TemporaryDirectory()
    #expect(try Tool.run(["import", store, "things", "-"], in: directory.path, input: "{}\n").status == 0)
  }

  /// The tool under a limit of the shell's.
  private func limited(_ limit: String, _ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "ulimit \(limit); exec \"$@\"", "sh", Tool.path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardInput = FileHandle.nullDevice
    return process
  }

  /// Serves with a limited number of file descriptors until the server listens or ends.
  ///
  /// The result has the process and its output. The system's dispatch library ends a process without a
  /// message if it gets no descriptor when the main thread ends. That happens in about one start in 400, so
  /// such a start is repeated.
  private func serve(descriptors count: Int, retries: Int = 3) throws -> (process: Process, text: String) {
    let process = limited(
      "-n \(count)", ["serve", store, "--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    var text = ""
    while !text.contains("listening on port") {
      let piece = output.fileHandleForReading.availableData
      if piece.isEmpty { break }
      text += String(decoding: piece, as: UTF8.self)
    }
    if text.contains("listening on port") { kill(process.processIdentifier, SIGTERM) }
    text += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    if process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGILL, text.isEmpty,
      retries > 0
    {
      return try serve(descriptors: count, retries: retries - 1)
    }
    return (process, text)
  }

  @Test(arguments: Array(4...20) + [24, 32])
  func `with few file descriptors a server says so or runs, and ends when it is told to`(count: Int) throws {
    let (process, text) = try serve(descriptors: count)
    if text.contains("listening on port") {
      expect(process.terminationReason == .exit && process.terminationStatus == 143, "\(text)")
    } else {
      #expect(process.terminationReason == .exit && process.terminationStatus == 1, "\(text)")
      #expect(text.contains("Too many open files") || text.contains("as many files open"), "\(text)")
    }
  }

  @Test func `clients beyond the descriptors wait, and get their turn`() throws {
    let process = limited("-n 22", ["serve", store, "--listen", "127.0.0.1:0"])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    var text = ""
    func wait(for words: String) throws {
      while !text.contains(words) {
        let piece = output.fileHandleForReading.availableData
        try #require(!piece.isEmpty, "\(text)")
        text += String(decoding: piece, as: UTF8.self)
      }
    }
    try wait(for: "listening on port ")
    let port = try #require(text.firstMatch(of: /port (\d+)/).flatMap { UInt16($0.1) })
    let clients = try (0..<12).map { _ in try Client(port: port) }
    // Once, and not for every attempt.
    try wait(for: "Cannot accept connections on 127.0.0.1:")
    for client in clients { client.end() }
    let late = try Client(port: port)
    #expect(late.hears())
    late.end()
    #expect(text.components(separatedBy: "Cannot accept").count == 2, "\(text)")
  }

  @Test(arguments: [(1_600_000, "1 GiB"), (3_000_000, "2 GiB"), (40_000_000, "32 GiB")])
  func `without 64 GiB of address space a store has what there is, and says how much`(
    kilobytes: Int, size: String
  ) throws {
    let process = limited("-v \(kilobytes)", ["query", store, "SELECT COUNT(*) AS n FROM things"])
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let rows = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let notes = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(notes)")
    #expect(rows == "{\"n\":1}\n")
    #expect(notes.contains("cannot have 64 GiB of address space: the store begins with \(size)"))
  }
}

/// A connection to a port of this machine.
private final class Client {
  private let descriptor: Int32

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(status == 0)
  }

  /// Waits for the other end's first bytes; `false` when it hangs up instead.
  func hears() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 64)
    return read(descriptor, &bytes, bytes.count) > 0
  }

  func end() { close(descriptor) }
}

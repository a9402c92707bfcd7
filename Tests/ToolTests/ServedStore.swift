import Foundation
import Synchronization
import TestKit
import Testing

@testable import dunlin

/// A store that `dunlin serve` has open.
final class ServedStore {
  let directory: TemporaryDirectory
  let process: Process
  private let output: OutputLines

  var store: String { directory.file("store") }
  var socket: String { store + "/control.sock" }

  /// The lines that a process has printed so far.
  private final class OutputLines: Sendable {
    private let text = Mutex("")

    var all: String { text.withLock { $0 } }

    init(_ pipe: Pipe) {
      let handle = pipe.fileHandleForReading
      Thread.detachNewThread { [self] in
        while true {
          let data = handle.availableData
          guard !data.isEmpty else { return }
          text.withLock { $0 += String(decoding: data, as: UTF8.self) }
        }
      }
    }
  }

  /// Serves a store of so many documents, and waits until it answers.
  init(_ directory: TemporaryDirectory, documents: Int = 0, bytes: Int = 0, more: [String] = []) async throws
  {
    self.directory = directory
    if documents > 0 {
      let text = String(repeating: "x", count: bytes)
      let lines = (0..<documents).map { #"{"_id":\#($0),"n":\#($0 % 7),"text":"\#(text)"}"# + "\n" }.joined()
      let imported = try Tool.run(
        ["import", directory.file("store"), "things", "-"], in: directory.path, input: lines)
      try #require(imported.status == 0, "\(imported.errors)")
    }
    process = Tool.process(
      ["serve", directory.file("store"), "--app", "tests", "--name", "depot", "--listen", "127.0.0.1:0"]
        + more)
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    output = OutputLines(pipe)
    try await wait(for: "listening on port")
  }

  deinit { process.end() }

  /// Waits until the process has printed something.
  func wait(for text: String) async throws {
    while !output.all.contains(text) {
      try #require(process.isRunning, "\(output.all)")
      await pause()
    }
  }

  var printed: String { output.all }

  var port: Int? {
    output.all.firstMatch(of: /listening on port (\d+)/).flatMap { Int($0.1) }
  }

  func run(_ arguments: String..., input: String = "") throws -> Tool.Outcome {
    try Tool.run(arguments, in: directory.path, input: input)
  }

  /// Ends the process as a user does, and waits.
  func stop() async {
    process.terminate()
    while process.isRunning { await pause() }
  }
}

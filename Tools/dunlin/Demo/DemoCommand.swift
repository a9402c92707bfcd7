import ArgumentParser
import Foundation
import PeerControl
import Synchronization

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Three peers, each a process with its own store, sync real flights and show what happens.",
    discussion: """
      It takes some seconds and keeps nothing. The status is 1 when something did not come out as expected.

      Example: dunlin demo
      """)

  @Option(
    help: ArgumentHelp(
      "A folder with the whole nycflights data set, instead of the sample.", valueName: "dir"),
    completion: .directory)
  var full: String?

  func run() async throws {
    let data = try DemoData(full: full)
    let workspace = try Workspace(purpose: "demo")
    let interruption = Interruption { workspace.remove() }
    defer {
      workspace.remove()
      interruption.cancel()
    }
    let report = Report()
    do {
      let demo = try await Demo(data: data, workspace: workspace, report: report)
      try await demo.run()
      await demo.collectTraffic()
    } catch {
      await interruption.yieldToCleanUp()
      report.failed("the demo came to its end", "\(error)")
    }
    await interruption.yieldToCleanUp()
    show(report.text(Style.output))
    if report.isGood { show(NextSteps.text) }
    workspace.remove()
    if !report.isGood { throw ExitCode.failure }
  }
}

/// Where the flights and what belongs to them come from.
struct DemoData {
  private let folder: String
  let isFull: Bool

  init(full: String?) throws {
    isFull = full != nil
    guard let folder = full ?? SampleData.directory() else {
      throw ToolError("the sample that belongs to this program was not found; use --full")
    }
    self.folder = folder
    for collection in SampleData.collections
    where !FileManager.default.isReadableFile(atPath: file(collection)) {
      throw ToolError("\(file(collection)): there is no such file")
    }
  }

  func file(_ collection: String) -> String { "\(folder)/\(collection).jsonl.gz" }
}

/// The folder of some stores and the processes that use them; nothing of it outlives the command.
final class Workspace: Sendable {
  let path: String
  private let peers = Mutex<[ChildPeer]>([])

  /// Makes a folder whose name says what it is for.
  init(purpose: String) throws {
    path =
      FileManager.default.temporaryDirectory.appendingPathComponent("dunlin-\(purpose)-\(UUID().uuidString)")
      .path
    guard mkdir(path, 0o700) == 0 else { throw RawFile.failure(path, "cannot be made", errno) }
  }

  func start(_ name: String, kind: String) throws -> ChildPeer {
    try peers.withLock { peers in
      let peer = try ChildPeer(
        name: name, path: "\(path)/\(name)", kind: kind, program: try Self.program())
      peers.append(peer)
      return peer
    }
  }

  /// The path of this program.
  private static func program() throws -> String {
    if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    guard let path = Bundle.main.executablePath else {
      throw ToolError("the path of this program is unknown")
    }
    return path
  }

  /// Ends the processes, then removes the folder; a second caller, such as a signal handler's queue,
  /// waits until the first is done.
  func remove() {
    peers.withLock { peers in
      for peer in peers { peer.stop() }
      peers = []
    }
    try? FileManager.default.removeItem(atPath: path)
  }
}

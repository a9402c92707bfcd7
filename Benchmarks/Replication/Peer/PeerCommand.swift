import ArgumentParser
import BenchmarkSupport
import Foundation

/// The process of one peer: reads requests from standard input and answers on standard output.
struct PeerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "peer", shouldDisplay: false)

  @Option var kind = PeerKind.dunlin

  func run() async throws {
    let parent = getppid()
    let watch = Task {
      while getppid() == parent { try await Task.sleep(for: .seconds(1)) }
      _exit(1)  // Whoever asked is gone, whatever is under way here.
    }
    defer { watch.cancel() }
    var peer: (any PeerService)?
    while let line = await nextLine() {
      let request = try JSONDecoder().decode(Request.self, from: Data(line.utf8))
      if case .quit = request { break }
      var reply: Reply
      do {
        reply = try await answer(request, &peer)
      } catch {
        reply = Reply(error: "\(error)")
      }
      try Self.say(reply)
    }
    await peer?.close()
  }

  private static func say(_ reply: Reply) throws {
    try FileHandle.standardOutput.write(contentsOf: try JSONEncoder().encode(reply) + [10])
  }

  private func nextLine() async -> String? {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: readLine()) }
    }
  }

  private func answer(_ request: Request, _ opened: inout (any PeerService)?) async throws -> Reply {
    if case .open(let path, let name, let level) = request {
      opened =
        switch kind {
        case .dunlin: try Peer(path: path, name: name, level: level)
        case .secure: try Peer(path: path, name: name, level: level, isSecure: true)
        case .application: try ApplicationPeer(path: path, name: name)
        case .secureApplication: try ApplicationPeer(path: path, name: name, isSecure: true)
        case .crowd: Crowd(path: path)
        case .secureCrowd: Crowd(path: path, isSecure: true)
        case .raw: try RawPeer(path: path)
        }
      return Reply()
    }
    guard let opened else { throw BenchmarkError("the store is not open") }
    let start = Measures.nanoseconds
    var reply = try await opened.answer(request) { try? Self.say(Reply()) }
    reply.figures["seconds"] = (Measures.nanoseconds - start) / 1e9
    return reply
  }
}

import CRDTCore
import DocStore
import Glibc
import TestKit

/// Kills a process while it makes a store: afterwards there is none, or a whole one.
struct CreationCampaign {
  let seed: UInt64

  func run(cycles: Int) throws -> Tally {
    try Scratch.with { scratch in
      var random = SeededGenerator(seed: seed)
      var tally = Tally()
      for cycle in 0..<cycles {
        let directory = scratch.file("new-\(cycle)")
        let lines = try die(at: directory + "/db", after: .microseconds(random.int(below: 2_500)))
        tally["creations"] += 1
        if lines.isEmpty { tally["cut short"] += 1 }
        let site = lines.first { $0.hasPrefix("s") }?.dropFirst(2)
        _ = try Child.run { _ in try verify(directory + "/db", site: site, isWritten: lines.contains("a")) }
        Files.removeTree(directory)
      }
      return tally
    }
  }

  private func die(at path: String, after delay: Duration) throws -> [Substring] {
    let child = try Child.start { descriptor in
      let store = try open(path)
      Child.write("s \(store.site)\n", to: descriptor)
      try store.write { try $0.upsert(["n": .int(1)], id: DocumentID("first"), into: "cars") }
      Child.write("a\n", to: descriptor)
      while true { pause() }
    }
    let deadline = ContinuousClock.now + delay
    var text: [UInt8] = []
    while ContinuousClock.now < deadline, let more = child.read(timeout: deadline - ContinuousClock.now) {
      text += more
    }
    child.kill()
    while let more = child.read() { text += more }
    guard child.wait() == .signal(SIGKILL) else {
      throw Failure(.crash, "a creator ended by itself: \(String(decoding: text, as: UTF8.self))")
    }
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
  }

  private func verify(_ path: String, site: Substring?, isWritten: Bool) throws {
    let store = try open(path)
    defer { store.close() }
    if let site, site != store.site.description { throw Failure(.lost, "a store that was announced is gone") }
    let count = try store.read { try $0.collections() }.first?.documentCount ?? 0
    guard count == 1 || !isWritten else { throw Failure(.lost, "the first document is gone") }
    guard Set(Files.names(in: path)).isDisjoint(with: ["data.mdb.new", "data.mdb.new-lock"]) else {
      throw Failure(.unreadable, "the rest of an interrupted creation was left")
    }
    try store.write { try $0.upsert(["n": .int(2)], id: DocumentID("second"), into: "cars") }
  }

  private func open(_ path: String) throws -> Store {
    try Store.open(at: path, options: .silent)
  }
}

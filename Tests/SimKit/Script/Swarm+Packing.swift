extension Swarm {
  /// Lets peers choose how they compress, in some seeds, and makes a few documents long enough for chunks.
  ///
  /// Nothing is compressed where an oracle reads the bytes for collections that scopes keep back.
  mutating func addPacking() {
    var draws = Stream(script.seed, .packing)
    if script.rules.hasNoScopes, draws.oneIn(3) {
      for number in script.peers.indices where !draws.oneIn(5) {
        script.peers[number].compressionLevel = nil
      }
      for number in script.links.indices {
        if draws.oneIn(6) { script.links[number].isLocal = true }
        if draws.oneIn(4) {
          script.links[number].bytesPerSecond = draws.logarithmic(in: 10_000_000...1_000_000_000)
        }
      }
    }
    if draws.oneIn(8) { lengthenPads(&draws) }
  }

  /// Makes of some of the long values far longer ones, where no link takes minutes for one.
  private mutating func lengthenPads(_ draws: inout Stream) {
    let slowest = script.links.map(\.bytesPerSecond).min() ?? 0
    guard slowest >= 40_000, script.peers.allSatisfy({ $0.hardDocumentBytes > 1 << 20 }) else { return }
    var left = 6
    for index in script.events.indices where left > 0 {
      guard case .write(let peer, var edits) = script.events[index].what,
        let place = edits.firstIndex(where: { $0.kind == .pad || $0.kind == .upsert }), draws.oneIn(4)
      else { continue }
      edits[place].kind = .pad
      edits[place].value = draws.logarithmic(in: 66_000...250_000)
      script.events[index].what = .write(peer: peer, edits: edits)
      left -= 1
    }
  }
}

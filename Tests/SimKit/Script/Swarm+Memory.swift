extension Swarm {
  /// Gives sessions little memory, in some seeds.
  mutating func addMemory() {
    var draws = Stream(script.seed, .memory)
    guard draws.oneIn(4) else { return }
    for number in script.peers.indices where !draws.oneIn(4) {
      script.peers[number].memory = draws.int(below: 1 << 30)
      script.peers[number].liveQueueBytes = draws.logarithmic(in: 200...100_000)
    }
  }
}

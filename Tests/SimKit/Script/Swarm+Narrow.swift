extension Swarm {
  /// Makes most peers narrow, in some seeds: they ask for little of what their neighbours receive.
  ///
  /// A relay, such as the hub of a star, continues to ask for everything. Where subscriptions change, a relay
  /// may be narrow, too.
  mutating func addNarrow() {
    var draws = Stream(script.seed, .narrow)
    guard draws.oneIn(3), script.peers.count > 2 else { return }
    if draws.oneIn(2) { script.rules.documents = draws.int(in: 20...80) }
    if draws.oneIn(2) { makeStar() }
    for number in script.peers.indices {
      let isForwarding = script.links.count { $0.a == number || $0.b == number } > 1
      if isForwarding, script.rules.hasFixedInterests || draws.oneIn(2) {
        script.peers[number].subscriptions = (0..<script.rules.collections).map {
          SubscriptionPlan($0, .all)
        }
      } else if !draws.oneIn(4) {
        script.peers[number].subscriptions = (0..<script.rules.collections).map {
          SubscriptionPlan($0, draws.pick([.highAndOdd, .highAndOdd, .even, .odd, .red, .high]))
        }
      }
    }
  }

  /// Hangs all peers at the first one.
  private mutating func makeStar() {
    guard script.links.count == script.peers.count - 1 else { return }
    for index in script.links.indices {
      let isDialed = script.links[index].a < script.links[index].b
      (script.links[index].a, script.links[index].b) = isDialed ? (0, index + 1) : (index + 1, 0)
    }
  }

  /// Has peers change soon who tells whom what it holds, in most seeds.
  mutating func addTelling() {
    var draws = Stream(script.seed, .telling)
    guard !draws.oneIn(4) else { return }
    for number in script.peers.indices where !draws.oneIn(8) {
      script.peers[number].telling = draws.int(below: 1 << 30)
    }
  }
}

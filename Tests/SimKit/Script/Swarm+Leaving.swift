extension Swarm {
  /// Has peers let go of what leaves their subscriptions, in some seeds.
  mutating func addLeaving() {
    var draws = Stream(script.seed, .leaving)
    guard draws.oneIn(3) else { return }
    for number in script.peers.indices {
      for index in script.peers[number].subscriptions.indices where draws.oneIn(2) {
        script.peers[number].subscriptions[index].evicts = true
      }
    }
    for index in script.events.indices {
      guard case .subscribe(let peer, var plans) = script.events[index].what else { continue }
      for place in plans.indices where draws.oneIn(2) { plans[place].evicts = true }
      script.events[index].what = .subscribe(peer: peer, to: plans)
    }
  }
}

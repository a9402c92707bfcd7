extension Swarm {
  /// Lets lines break their contract, in few seeds.
  mutating func addGarbling(_ size: Int) {
    var draws = Stream(script.seed, .garbling)
    guard draws.oneIn(6), !script.links.isEmpty else { return }
    let duration = Int(script.duration)
    for _ in 0..<max(draws.logarithmic(in: 1...60) * size / 100, 1) {
      let after = draws.oneIn(2) ? 0 : draws.logarithmic(in: 1...20_000)
      let how: Garbling =
        switch draws.int(below: 7) {
        case 0, 1: .repeated
        case 2: .repeatedBytes(draws.logarithmic(in: 1...4_000))
        case 3, 4: .swapped
        case 5: .lost
        default: .flipped(bit: draws.int(below: 1 << 20))
        }
      script.events.append(
        ScriptEvent(
          at: SimTime(draws.int(below: duration + 1)),
          .garble(
            link: draws.int(below: script.links.count), towardB: draws.oneIn(2), after: after, how: how)))
    }
    script.events.sort { $0.at < $1.at }
  }
}

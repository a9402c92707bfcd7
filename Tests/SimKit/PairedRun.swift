package import Failpoints
import ScopePolicy

/// Plays a script twice, with other contents in the data that peers keep to themselves.
///
/// Both runs must send the same bytes at the same times, so that nobody learns anything of this data.
package struct PairedRun {
  package init() {}

  /// - Returns: What is wrong; `nil` when both runs hold and go the same way.
  package func violation(seed: UInt64, size: Int = 100, defects: [any Failpoint] = []) -> Violation? {
    let script = Swarm.script(seed: seed, size: size, hasSecrets: true)
    var simulation = Simulation()
    // A defect is to show in what is sent.
    if !defects.isEmpty { simulation.firing = .isIgnored }
    let plain = simulation.run(script, defects: defects)
    if let violation = plain.violation { return violation }
    simulation.hasOtherSecrets = true
    let other = simulation.run(script, defects: defects)
    if let violation = other.violation { return violation }
    guard plain.trace == other.trace else {
      return Violation(.scopes, "what is sent depends on what may not be told")
    }
    return nil
  }
}

extension Script {
  /// Whether nothing of a collection ever leaves a peer, nor what that means for anything else.
  func keepsToItself(_ collection: Int, at peer: Int) -> Bool {
    let scopes = peers[peer].scopes
    return rules.hasFixedScopes && rules.hasNoCopies && collection < scopes.count
      && SyncScope.allCases[scopes[collection]] == .localPeerOnly
  }
}

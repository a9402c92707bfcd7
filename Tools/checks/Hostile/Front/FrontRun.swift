import CRDTCore
import Foundation
import PeerControl
import Synchronization

/// One run of a row against the HTTP API: idle first, then attacked, then left alone.
struct FrontRun {
  let run: FrontRow.Run
  let program: String
  let attack: Duration
  let idle: Duration
  /// How long a write may take, and the memory may take to be given back.
  let patience: Duration

  /// Runs the row once.
  ///
  /// - Throws: Where the big peer cannot be started.
  func run() async throws -> Figures {
    let victim = try await FrontVictim(program: program, limits: run.limits)
    defer { victim.end() }
    let seconds = Int(patience.components.seconds)
    let watch = MemoryWatch(victim.processID, deadline: .now + idle + attack + patience * 4 + .seconds(120))
    defer { watch.stop() }
    let ownKey = try await victim.makeKey("write")
    let key = try await victim.makeKey(run.row.right)
    try await fill(victim, ownKey)
    let writer = HonestWriter(port: victim.port, token: ownKey, patience: seconds)
    var figures = Figures()
    try await Task.sleep(for: .milliseconds(500))
    _ = (writer.takeWaits(), watch.takePeak())
    try await Task.sleep(for: idle)
    figures.idle = writer.takeWaits()
    let peak = watch.takePeak()
    guard let before = ProcessFigures(of: victim.processID) else {
      throw PeerError("the big peer ended before the attack")
    }
    let disk = DiskUse.bytes(of: victim.path)
    let target = Target(port: victim.port, deadline: .now + attack)
    let faults = Mutex<[String]>([])
    await attack(target, key) { fault in faults.withLock { $0.append(fault) } }
    figures.faults = faults.withLock { $0 }
    figures.sentBytes = target.sentBytes
    figures.memoryWhile = max(0, watch.takePeak() - peak)
    await writer.stop()
    figures.attacked = writer.takeWaits()
    figures.processorSeconds =
      (ProcessFigures(of: victim.processID)?.processorSeconds ?? 0) - before.processorSeconds
    figures.diskBytes = DiskUse.bytes(of: victim.path) - disk
    figures.memoryAfter = try await settle(victim, above: before.anonymousBytes)
    if victim.hasEnded { figures.death = watch.ending ?? "its process ended" }
    return figures
  }

  private func fill(_ victim: FrontVictim, _ key: String) async throws {
    guard run.row.documents > 0 else { return }
    let documents = (0..<run.row.documents).map { "{\"_id\":\($0),\"n\":{\"$counter\":0}}" }
    try await victim.execute(
      key,
      "{\"statement\":\"INSERT INTO things DOCUMENTS (:d)\",\"args\":{\"d\":[\(documents.joined(separator: ","))]}}"
    )
  }

  private func attack(
    _ target: Target, _ key: String, _ fail: @escaping @Sendable (String) -> Void
  ) async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        run.row.attack(FrontRow.Scene(target: target, key: key, fail: fail))
        continuation.resume()
      }
    }
  }

  /// Waits for ten seconds after the attack, or until the memory is as it should be by then.
  ///
  /// - Returns: The least memory meanwhile, above what there was before.
  private func settle(_ victim: FrontVictim, above before: Int) async throws -> Int {
    var least = Int.max
    for _ in 0..<40 where least > run.row.aims.memoryAfter ?? 0 {
      try await Task.sleep(for: .milliseconds(250))
      least = min(least, (ProcessFigures(of: victim.processID)?.anonymousBytes ?? 0) - before)
    }
    return least
  }
}

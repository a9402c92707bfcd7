import Glibc
import TestKit

/// Damages a closed store's file, one place at a time, and reads all of it.
struct BitCampaign {
  let seed: UInt64
  var verifies = true

  private static let hangSeconds: UInt32 = 20

  func run(flips: Int) throws -> Tally {
    try Scratch.with { scratch in
      let reference = try Reference.make(in: scratch, seed: 5)
      let path = scratch.file("damaged")
      mkdir(path, 0o700)
      var random = SeededGenerator(seed: seed)
      var tally = Tally()
      for number in 0..<flips {
        var damage: Damage?
        while damage == nil {
          let targets = Damage.Target.allCases
          let target = number % 2 == 0 ? .anywhere : targets[random.int(below: targets.count)]
          damage = Damage(reference.file, older: reference.older, target, &random)
        }
        if let damage { try check(damage, reference, at: path, &tally) }
      }
      return tally
    }
  }

  private func check(_ damage: Damage, _ reference: Reference, at path: String, _ tally: inout Tally) throws {
    Files.removeTree(path)
    mkdir(path, 0o700)
    try Files.write(damage.bytes, to: path + "/data.mdb")
    tally["damages"] += 1
    let lines: [Substring]
    do {
      lines = try Child.run { descriptor in
        alarm(Self.hangSeconds)
        let check = try DamageCheck(path, reference, verifies: verifies)
        let flags = [check.openError != nil, check.isNoticed, check.isVerified, check.isMended].map {
          $0 ? 1 : 0
        }
        let counts = [check.intact, check.refused, check.absent, check.wrong, check.misorders] + flags
        Child.write(counts.map { "\($0)" }.joined(separator: " ") + "\n", to: descriptor)
      }
    } catch {
      let failure = Failure(wrapping: error)
      throw Failure(failure.kind, "\(failure.text): \(damage)")
    }
    let counts = lines.first?.split(separator: " ").compactMap { Int($0) } ?? []
    guard counts.count == 9 else { throw Failure(.harness, "a check without a result") }
    try judge(counts, damage, reference, &tally)
  }

  private func judge(_ counts: [Int], _ damage: Damage, _ reference: Reference, _ tally: inout Tally) throws {
    let (intact, refused, absent, wrong, misorders) = (counts[0], counts[1], counts[2], counts[3], counts[4])
    let (isRefused, isNoticed, isVerified) = (counts[5] == 1, counts[6] == 1, counts[7] == 1)
    if wrong > 0 {
      // A page from the past holds records that were true once: no check of theirs can tell.
      guard damage.target == .stale, verifies else {
        throw Failure(.wrong, "\(wrong) documents read as what they are not: \(damage)")
      }
      tally["with documents as they were before"] += 1
    }
    if absent > 0 { tally["with documents not found"] += 1 }
    if misorders > 0 { tally["with rows of an index not found"] += 1 }
    if isRefused {
      tally["refused at open"] += 1
    } else if isVerified {
      tally[refused > 0 || isNoticed ? "noticed while reading" : "found by verification alone"] += 1
    } else if counts[8] == 1, intact == reference.count, misorders == 0 {
      tally["noticed while reading, and mended"] += 1
    } else if intact == reference.count, misorders == 0, !isNoticed {
      tally["invisible"] += 1
    } else {
      guard damage.target == .stale else {
        throw Failure(.unreadable, "verification finds nothing: \(damage)")
      }
      tally["pages of the past that only a later write would tell"] += 1
    }
  }
}

import CRDTCore
import DocStore
import Glibc
import TestKit

/// Damages pages of a large store, while it is closed, or open without having read them.
///
/// It judges by what queries, writes, index builds, exports and peers get.
struct PageCampaign {
  let seed: UInt64
  var trustsPages = false

  private static let hangSeconds: UInt32 = 60

  func run(flips: Int) throws -> Tally {
    try Scratch.with { scratch in
      let reference = try LargeReference.make(in: scratch)
      let path = scratch.file("damaged")
      let pages = reference.pages
      var random = SeededGenerator(seed: seed)
      var tally = Tally()
      tally["pages in the store"] = pages.count
      for number in 0..<flips {
        let page = pages[random.int(below: pages.count)]
        // Every other one in the engine's words, the others anywhere.
        let place = random.int(below: number % 2 == 0 ? 64 : Damage.pageBytes)
        let change = PageChange(
          offset: page * Damage.pageBytes + place, bit: UInt8(random.int(below: 8)), isOpen: number % 4 >= 2)
        try check(change, reference, at: path, random.next(), &tally)
      }
      return tally
    }
  }

  private func check(
    _ change: PageChange, _ reference: LargeReference, at path: String, _ seed: UInt64, _ tally: inout Tally
  ) throws {
    Files.removeTree(path)
    mkdir(path, 0o700)
    var bytes = reference.file
    if !change.isOpen { change.apply(to: &bytes) }
    try Files.write(bytes, to: path + "/data.mdb")
    tally[change.isOpen ? "damaged while open" : "damaged while closed"] += 1
    let lines: [Substring]
    do {
      lines = try Child.run { descriptor in
        alarm(Self.hangSeconds)
        var check = PageQuestions(path, seed: seed)
        try check.run(change, trustsPages: trustsPages)
        Child.write("\(check.right) \(check.refused) \(check.isVerified ? 1 : 0)\n", to: descriptor)
        for wrong in check.wrong { Child.write("wrong \(wrong)\n", to: descriptor) }
      }
    } catch {
      let failure = Failure(wrapping: error)
      throw Failure(failure.kind, "\(failure.text): \(change)")
    }
    if let wrong = lines.first(where: { $0.hasPrefix("wrong") }) {
      throw Failure(.wrong, "\(wrong.dropFirst(6)): \(change)")
    }
    let counts = lines.first?.split(separator: " ").compactMap { Int($0) } ?? []
    guard counts.count == 3 else { throw Failure(.harness, "a check without a result") }
    if counts[1] > 0 {
      tally["noticed while reading"] += 1
    } else if counts[2] == 1 {
      // Nothing that was asked for depends on it.
      tally["found by verification alone"] += 1
    } else {
      tally["invisible"] += 1
    }
  }
}

/// One bit of a store's file that becomes another one.
struct PageChange: CustomStringConvertible {
  let offset: Int
  let bit: UInt8
  let isOpen: Bool

  var description: String {
    "bit \(bit) of byte \(offset % Damage.pageBytes) of page \(offset / Damage.pageBytes), "
      + (isOpen ? "while the store is open" : "while the store is closed")
  }

  func apply(to bytes: inout [UInt8]) { bytes[offset] ^= 1 << bit }

  /// Changes the file beneath an open store.
  func apply(to path: String) throws {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(.harness, "the file cannot be opened: errno \(errno)") }
    defer { close(descriptor) }
    var byte: UInt8 = 0
    guard pread(descriptor, &byte, 1, off_t(offset)) == 1 else {
      throw Failure(.harness, "no byte to change")
    }
    byte ^= 1 << bit
    guard pwrite(descriptor, &byte, 1, off_t(offset)) == 1 else { throw Failure(.harness, "no byte changed") }
  }
}

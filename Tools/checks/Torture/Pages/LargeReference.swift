import CRDTCore
import DocStore
import Glibc
import TestKit

/// A closed store with more pages than are looked at when it is opened, and what has to be read from it.
struct LargeReference {
  let file: [UInt8]
  static let count = 9_600
  static let index = IndexDefinition(name: "byN", collection: "flights", fields: [IndexField(["n"])])

  /// The sum of all numbers.
  static var sum: Int64 { Int64(count) * Int64(count - 1) / 2 }

  /// Pages of leaves, long values and branches.
  var pages: [Int] {
    (2..<file.count / Damage.pageBytes).filter { [1, 2, 4].contains(file[$0 * Damage.pageBytes + 10]) }
  }

  static func make(in scratch: Scratch) throws -> LargeReference {
    let path = scratch.file("large")
    _ = try Child.run { _ in
      var random = SeededGenerator(seed: 11)
      let store = try Reference.open(path)
      try store.createIndex(index)
      for start in stride(from: 0, to: count, by: 800) {
        try store.write { tx in
          for n in start..<start + 800 {
            let long = n % 400 == 0
            try tx.upsert(
              ["n": .int(Int64(n)), "text": .string(random.text(long ? 9_000 : 1_700))], id: id(n),
              into: "flights")
          }
        }
      }
      // So that pages that were written again, and free ones, are there too.
      for start in stride(from: 0, to: 1_200, by: 100) {
        try store.write { tx in
          for n in start..<start + 100 { try tx.update(id(n), in: "flights", [.set(["seen"], .bool(true))]) }
        }
      }
      store.close()
    }
    return LargeReference(file: try Files.read(path + "/data.mdb"))
  }

  static func id(_ n: Int) throws -> DocumentID { try DocumentID(.string("flight \(n)")) }
}

package import CRDTCore

package enum ModelOperation {
  case entry(path: Int, stamp: ModelStamp, content: ModelContent)
  case count(path: Int, epoch: ModelStamp, writer: ModelWriter, reading: UInt64, total: Int64)
  case life(stamp: ModelStamp, isAlive: Bool, floor: ModelStamp)
}

/// Numbers of operations in the log of a history.
package struct OperationSet: Equatable {
  private var words: [UInt64] = []

  package mutating func insert(_ number: Int) {
    while words.count <= number / 64 { words.append(0) }
    words[number / 64] |= 1 << UInt64(number % 64)
  }

  package mutating func formUnion(_ other: OperationSet) {
    while words.count < other.words.count { words.append(0) }
    for index in other.words.indices { words[index] |= other.words[index] }
  }

  package func contains(_ number: Int) -> Bool {
    number / 64 < words.count && words[number / 64] & (1 << UInt64(number % 64)) != 0
  }
}

/// Every operation of a history, never forgotten: what the replicas must come to is its fold.
package struct OperationLog {
  private var operations: [ModelOperation] = []

  package init() {}

  package mutating func append(_ operation: ModelOperation) -> Int {
    operations.append(operation)
    return operations.count - 1
  }

  /// What a reader sees once all operations of `known` have met.
  package func fold(_ known: OperationSet) -> [TextKey: Value]? {
    var document = ModelDocument([])
    let met = operations.enumerated().filter { known.contains($0.offset) }.map(\.element)
    for operation in met {
      switch operation {
      case .life(let stamp, let isAlive, let floor):
        let life = ModelDocument.Life(stamp: stamp, isAlive: isAlive, floor: floor)
        if document.life.map({ (stamp, isAlive ? 1 : 0) > ($0.stamp, $0.isAlive ? 1 : 0) }) ?? true {
          document.life = life
        }
        document.low = max(document.low, floor)
      case .entry(let path, let stamp, let content):
        document.put(path, .init(stamp: stamp, writer: .none, content: content))
      case .count: continue
      }
    }
    for case .count(let path, let epoch, let writer, let reading, let total) in met {
      guard let entry = document.entries[path], entry.stamp == epoch, entry.content.isNumber else { continue }
      var counted = entry
      counted.contributions[writer] = .init(reading: reading, amount: total)
      document.put(path, counted)
    }
    document.prune()
    return document.visible
  }
}

import CRDTCore

@testable import SyncProtocol

/// Bounds of what a peer sends of documents and answers.
extension Bound {
  static let sending: [Bound] = [
    Bound("the name of a collection") { raw, more in
      raw.send(.filterWanted) { out in
        out.write(1)
        out.writeVarint(1)
        out.writeString(letters(Limits.collectionNameBytes + more))
        out.writeVarint(1)
        out.writeVarint(1)
      }
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a filter") { raw, more in
      raw.sendFilter(totalBytes: SyncLimits.filterBytes + more, partBytes: 1)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a filter's part") { raw, more in
      raw.sendFilter(totalBytes: SyncLimits.filterBytes, partBytes: SyncLimits.filterPieceBytes + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the parts of a range") { raw, more in
      raw.answerFirstQuestion { out in
        out.write(2)
        out.writeVarint(SyncLimits.splitRanges + more)
        var previous: [UInt8] = []
        for index in 1...SyncLimits.splitRanges + more {
          if index < SyncLimits.splitRanges + more { out.writeRising([3, UInt8(index)], after: previous) }
          previous = [3, UInt8(index)]
          out.writeVarint(1)
          out.writeFixed(UInt64(index))
        }
      }
    } isTaken: {
      $0.sent(.compare).count > 1
    },
    Bound("the bytes of a fragment") { raw, more in
      // The beginning of one group, which takes three bytes to tell its length.
      raw.sendFragment(of: SyncLimits.smallTransactionBytes, byteCount: Limits.fragmentBytes - 3 + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a dense piece") { raw, more in
      raw.sendDense(byteCount: SyncLimits.densePieceBytes + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a group in the stream") { raw, more in
      raw.sendFragment(of: SyncLimits.smallTransactionBytes + more, byteCount: 10)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a piece of a large group") { raw, more in
      raw.sendChunk(of: 1 << 20, at: 0, [UInt8](repeating: 0, count: Limits.fragmentBytes + more))
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a large group") { raw, more in
      raw.sendChunk(of: SyncLimits.transactionBytes + more, at: 0, [0])
    } isTaken: {
      $0.isAlive()
    },
    Bound("the documents of a group") { raw, more in
      raw.sendGroup(emptyDocuments(SyncLimits.transactionDocuments + more))
    } isTaken: {
      $0.session.statistics.transactionsReceived == 1
    },
    Bound("the code of an answer's end") { raw, more in
      raw.sendEnd(codeBytes: SyncLimits.errorCodeBytes + more, messageBytes: 1)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the message of an answer's end") { raw, more in
      raw.sendEnd(codeBytes: 1, messageBytes: SyncLimits.errorMessageBytes + more)
    } isTaken: {
      $0.isAlive()
    },
  ]
}

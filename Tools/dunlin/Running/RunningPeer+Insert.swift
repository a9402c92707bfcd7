import CRDTCore
import DocStore
import DunlinControl
import Facade
import Foundation
import PeerControl

/// What became of a batch of documents.
struct InsertedBatch: Hashable, Sendable {
  /// Documents that were written.
  let documents: Int
  /// The commit that has them all; 0 where nothing was new.
  let commit: UInt64
}

extension RunningPeer {
  /// The bytes of documents in one line, about.
  private static let lineBytes = 1 << 20

  /// Writes documents in one transaction of the running peer: all of them, or none.
  ///
  /// - Parameters:
  ///   - documents: The fields of each; an `_id` among them names it.
  ///   - collection: Where they go.
  ///   - strategy: How to treat what is there.
  /// - Returns: What became of them, once that is durable.
  /// - Throws: `ControlError`, whose `document` is the index of the wrong one; `limit` for more than 64 MiB
  ///   of JSON.
  func insert(
    _ documents: [[TextKey: Value]], into collection: String, strategy: WriteStrategy = .merge
  ) async throws -> InsertedBatch {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result { try self.insertWaiting(documents, into: collection, strategy: strategy) })
      }
    }
  }

  private func insertWaiting(
    _ documents: [[TextKey: Value]], into collection: String, strategy: WriteStrategy
  ) throws -> InsertedBatch {
    guard !documents.isEmpty else { return InsertedBatch(documents: 0, commit: 0) }
    var lines = try Self.lines(of: documents)
    for index in lines.indices.dropLast() { lines[index]["more"] = .bool(true) }
    lines[0].merge([
      "do": .string("insert"), "collection": .string(collection), "strategy": .string(strategy.name),
    ]) { $1 }
    let result = try ask(lines)
    return InsertedBatch(
      documents: result.integer("documents") ?? 0, commit: UInt64(clamping: result.integer("commit") ?? 0))
  }

  /// The documents in lines that no peer finds too long, unless one document is.
  private static func lines(of documents: [[TextKey: Value]]) throws -> [[TextKey: Value]] {
    var lines: [[TextKey: Value]] = []
    var (waiting, bytes, sum) = ([Value](), 0, 0)
    for (index, fields) in documents.enumerated() {
      let size = ControlProtocol.line(fields).count
      guard size + 1_024 < ControlProtocol.lineBytes else {
        throw ControlError(
          .limit, "with \(size) bytes as JSON the document is too large to be sent to a running peer",
          document: index)
      }
      sum += size
      guard sum <= ControlProtocol.batchBytes else {
        throw ControlError(
          .limit,
          "a transaction of a running peer takes at most \(ControlProtocol.batchBytes) bytes of JSON: put fewer documents into a batch"
        )
      }
      if bytes + size > lineBytes, !waiting.isEmpty {
        lines.append(["documents": .array(waiting)])
        (waiting, bytes) = ([], 0)
      }
      waiting.append(.map(fields))
      bytes += size
    }
    lines.append(["documents": .array(waiting)])
    return lines
  }
}

extension WriteStrategy {
  /// Its name in a request.
  fileprivate var name: String {
    switch self {
    case .merge: "merge"
    case .insertIfAbsent: "insertIfAbsent"
    case .insertDefaultIfAbsent: "insertDefaultIfAbsent"
    case .updateDifferentValues: "updateDifferentValues"
    }
  }
}

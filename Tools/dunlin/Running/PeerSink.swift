import CRDTCore
import DocStore
import DunlinControl
import Facade
import PeerControl

/// A store that a running peer has open, which writes what is imported.
struct PeerSink: DocumentSink {
  let peer: RunningPeer

  func insert(_ batch: DocumentBatch, into collection: String, strategy: WriteStrategy) async throws {
    var documents: [[TextKey: Value]] = []
    documents.reserveCapacity(batch.count)
    try batch.forEach { index, text in
      let value: Value
      do {
        value = try JSON.parse(text, options: .init(interpretsTags: batch.interpretsTags))
      } catch {
        throw RefusedDocument(index: index, message: error.sentence)
      }
      guard case .map(let fields) = value else {
        throw RefusedDocument(index: index, message: "A document is a JSON object")
      }
      documents.append(fields)
    }
    do {
      _ = try await peer.insert(documents, into: collection, strategy: strategy)
    } catch let error as ControlError {
      guard let index = error.document else { throw error }
      throw RefusedDocument(index: index, message: error.message)
    }
  }

  /// The peer goes on.
  func close() {}
}

extension StoreAccess {
  /// Where an import's documents go: to the store, which is made if need be, or to the peer that has it open.
  static func sink(_ path: String) throws -> any DocumentSink {
    if let peer = try RunningPeer.of(store: path) { return PeerSink(peer: peer) }
    do {
      return StoreSink(store: try Store.open(at: path, options: .tool))
    } catch  where error.code == .alreadyOpen {
      switch try open(path) {
      case .own(let store): return StoreSink(store: store)
      case .peer(let peer): return PeerSink(peer: peer)
      }
    }
  }
}

import CRDTCore

/// The record of a peer's document, made before its write transaction: right where the document is new.
package struct RecordDraft: Sendable {
  let document: EncodedDocument
  let times: MergeTimes
}

/// Makes records of peers' documents on the thread of whoever receives them, so that the writer need not.
///
/// Field names and sites have numbers that only the writer gives. Those that committed records refer to stay, so a
/// document that needs no others can be made anywhere; the first one that does is left to the writer, with all
/// of its collection that come before the writer has done it.
package struct RecordDrafter {
  private let store: Store
  private var catalogue: Catalogue
  private var tables: [String: RecordTables?] = [:]

  /// Larger documents are as well made by the writer: they would take their memory twice while they wait.
  private static let maximumBytes = 16 << 10

  package init(_ store: Store) {
    self.store = store
    catalogue = store.writer.catalogue
  }

  /// The record of a document, for ``WriteTransaction/merge(wire:id:in:draft:choosing:)``.
  ///
  /// - Returns: `nil` where the writer has to make it, for whatever reason.
  package mutating func draft(_ wire: RawSpan, in collection: String) -> RecordDraft? {
    guard wire.byteCount <= Self.maximumBytes, WireDocument.isUniform(wire) else { return nil }
    let latest = store.writer.catalogue
    if latest !== catalogue {
      catalogue = latest
      tables.removeAll(keepingCapacity: true)
    }
    if tables[collection] == nil {
      tables[collection] = catalogue.byName[collection].map {
        RecordTables(keys: $0.keys, sites: catalogue.sites)
      }
    }
    guard var known = tables[collection] ?? nil else { return nil }
    let names = (known.keys.count, known.sites.sites.count)
    do throws(CodecError) {
      guard let document = try DocumentCodec.record(ofUniform: wire, tables: &known) else { return nil }
      guard (known.keys.count, known.sites.sites.count) == names else {
        tables[collection] = .some(nil)
        return nil
      }
      return RecordDraft(document: document, times: try MergeTimes(wire))
    } catch {
      return nil
    }
  }
}

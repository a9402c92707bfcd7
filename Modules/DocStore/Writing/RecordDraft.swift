import CRDTCore

/// The record of a peer's document, made before its write transaction: right where the document is new.
package struct RecordDraft: Sendable {
  let document: EncodedDocument

  /// Bytes of the record.
  package var byteCount: Int { document.record.count }

  /// Whether the site that it names is in memory still: another one may be collected.
  func isCurrent(_ sites: SiteTable) -> Bool {
    RecordView(document.record.rawBytes).mainSite >= UInt32(sites.firstKept)
  }
}

/// Makes records of peers' documents on the thread of whoever receives them, so that the writer need not.
///
/// Field names and sites have numbers that only the writer gives. Those that committed records refer to stay, so a
/// document that needs no others can be made anywhere; the first one that does is left to the writer, with all
/// of its collection that come before the writer has done it.
package struct RecordDrafter {
  /// The dictionaries of a collection; `nil` where the writer has to do it all.
  private struct Dictionaries {
    @TextKey var collection: String
    var tables: RecordTables?
  }

  private let store: Store
  private var catalogue: Catalogue
  private var known: [TextKey: RecordTables?] = [:]
  /// Those of the last document, out of which nothing has to be looked up for the next.
  private var active: Dictionaries?

  /// Larger documents are as well made by the writer: they would take their memory twice while they wait.
  private static let maximumBytes = 16 << 10

  package init(_ store: Store) {
    self.store = store
    catalogue = store.writer.catalogue
  }

  /// Takes note of what the writer has numbered; before any group of documents.
  package mutating func refresh() {
    let latest = store.writer.catalogue
    guard latest !== catalogue else { return }
    catalogue = latest
    known.removeAll(keepingCapacity: true)
    active = nil
  }

  /// The record of a document, for ``WriteTransaction/merge(wire:id:in:draft:choosing:)``.
  ///
  /// - Parameters:
  ///   - wire: A wire document.
  ///   - collection: Its collection's name.
  /// - Returns: `nil` where the writer has to make it, for whatever reason.
  package mutating func draft(_ wire: RawSpan, in collection: String) -> RecordDraft? {
    guard wire.byteCount <= Self.maximumBytes, WireDocument.isUniform(wire) else { return nil }
    if active?.collection.isSame(as: collection) != true { activate(collection) }
    guard let names = active?.tables?.names else { return nil }
    do throws(CodecError) {
      guard let document = try active?.tables?.record(ofUniform: wire) else { return nil }
      guard active?.tables?.names == names else {
        active?.tables = nil
        return nil
      }
      return RecordDraft(document: document)
    } catch {
      // What the writer makes of it, it says.
      if active?.tables?.names != names { active?.tables = nil }
      return nil
    }
  }

  private mutating func activate(_ collection: String) {
    if let active { known[TextKey(active.collection)] = .some(active.tables) }
    if let tables = known[TextKey(collection)] {
      active = Dictionaries(collection: collection, tables: tables)
      return
    }
    let tables = catalogue.byName[TextKey(collection)].map {
      RecordTables(keys: $0.keys, sites: catalogue.sites)
    }
    active = Dictionaries(collection: collection, tables: tables)
  }
}

extension RecordTables {
  /// How many names there are of either kind.
  fileprivate var names: Int { keys.count + sites.count }

  fileprivate mutating func record(ofUniform wire: RawSpan) throws(CodecError) -> EncodedDocument? {
    try DocumentCodec.record(ofUniform: wire, tables: &self)
  }
}

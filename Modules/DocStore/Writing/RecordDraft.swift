import CRDTCore

/// The record of a peer's document, made before its write transaction; correct if the document is new.
package struct RecordDraft: Sendable {
  let document: EncodedDocument

  /// The size of the record in bytes.
  package var byteCount: Int { document.record.count }

  /// Whether the site that it names is still in memory; otherwise the site may have been removed.
  func isCurrent(_ sites: SiteTable) -> Bool {
    RecordView(document.record.rawBytes).mainSite >= UInt32(sites.firstKept)
  }
}

/// Makes records of peers' documents on the receiving thread, so that the writer need not.
///
/// Only the writer gives numbers to field names and sites. The numbers that committed records refer to do not
/// change. So a document that needs no other names can be encoded on any thread. The first document that
/// needs new names is left to the writer. So are all later ones of its collection, until the writer has
/// stored it.
package struct RecordDrafter {
  /// The dictionaries of a collection; `nil` if the writer must make the records.
  private struct Dictionaries {
    @TextKey var collection: String
    var tables: RecordTables?
  }

  private let store: Store
  private var catalogue: Catalogue
  private var known: [TextKey: RecordTables?] = [:]
  /// The dictionaries of the last document, so that nothing must be looked up for the next one.
  private var active: Dictionaries?

  /// Larger documents are left to the writer, because they would take their memory twice while they wait.
  private static let maximumBytes = 16 << 10

  package init(_ store: Store) {
    self.store = store
    catalogue = store.writer.catalogue
  }

  /// Gets the names that the writer has numbered; call it before each group of documents.
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
  /// - Returns: `nil` if the writer must make it, for any reason.
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
      // The writer will meet the same error and report it.
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
  /// The total number of field names and sites.
  fileprivate var names: Int { keys.count + sites.count }

  fileprivate mutating func record(ofUniform wire: RawSpan) throws(CodecError) -> EncodedDocument? {
    try DocumentCodec.record(ofUniform: wire, tables: &self)
  }
}

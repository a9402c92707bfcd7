/// Bounds that every layer shares.
public enum Limits {
  /// The most levels of maps and arrays in the value of a field.
  ///
  /// Every way into the database checks it. The document's own map does not count.
  public static let depth = 64
  /// The most steps of a path: that to a field of the deepest map.
  public static let pathSteps = depth + 1
  /// The most levels of expressions in a query.
  ///
  /// They suffice for the deepest value in a document in an array of documents.
  public static let expressionDepth = depth + 8
  /// The most bytes of an encoded document id.
  public static let documentIDBytes = 256
  /// The most writers in the version vector of one document.
  ///
  /// They take about 70 KB on the wire, which fit into one frame.
  public static let sitesPerDocument = 2_048
  /// The most keys in one map of a document, including removed keys that are not collected yet.
  public static let keysPerMap = 10_000
  /// The most bytes of a collection's name.
  public static let collectionNameBytes = 100
  /// Above this many bytes of canonical encoding, a document causes a warning.
  public static let softDocumentBytes = 250_000
  /// Above this many bytes of canonical encoding, a document is not sent to peers that have nothing of it.
  public static let hardDocumentBytes = 5_000_000
  /// Above this many bytes of canonical encoding, two states of a document are not merged.
  ///
  /// Each side then keeps what it wrote.
  public static let mergedDocumentBytes = 16 << 20
  /// The most bytes of a record that a store accepts.
  public static let recordBytes = 256 << 20
  /// The most bytes of one fragment on the wire, before compression.
  public static let fragmentBytes = 64 << 10
  /// The most bytes of a query's text.
  public static let queryBytes = 16 << 10
  /// The most nodes of a query's syntax tree.
  public static let queryNodes = 1_000
  /// The most subscriptions of one remote peer.
  public static let subscriptionsPerPeer = 256
}

/// Bounds that every layer shares.
public enum Limits {
  /// Levels of maps and arrays in the value of a field, at every entrance; the document's own map is not counted.
  public static let depth = 64
  /// Steps of the longest path: to a field of the deepest map.
  public static let pathSteps = depth + 1
  /// Levels of expressions in a query: room for the deepest value, in a document, in an array of documents.
  public static let expressionDepth = depth + 8
  /// Bytes of an encoded document id.
  public static let documentIDBytes = 256
  /// Writers in the version vector of one document; about 70 KB of it on the wire, which fit into one frame.
  public static let sitesPerDocument = 2_048
  /// Keys of one map of a document, removed ones that are not forgotten yet included.
  public static let keysPerMap = 10_000
  /// Bytes of a collection's name.
  public static let collectionNameBytes = 100
  /// Above this many bytes of canonical encoding a document draws a warning.
  public static let softDocumentBytes = 250_000
  /// Above this many bytes of canonical encoding a document is kept locally and never sent.
  public static let hardDocumentBytes = 5_000_000
  /// Above this many bytes of canonical encoding two states of a document are not merged: what each side wrote stays there.
  public static let mergedDocumentBytes = 16 << 20
  /// The largest record a store keeps at all.
  public static let recordBytes = 256 << 20
  /// Plain bytes of one fragment on the wire.
  public static let fragmentBytes = 64 << 10
  /// Bytes of a query's text.
  public static let queryBytes = 16 << 10
  /// Nodes of a query's syntax tree.
  public static let queryNodes = 1_000
  /// Subscriptions that one remote peer may register.
  public static let subscriptionsPerPeer = 256
}

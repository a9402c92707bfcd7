public import CRDTCore

/// One point of a backup series: a state of a store that can be restored.
public struct BackupPoint: Hashable, Sendable {
  /// Its number in the series; each point has the next one.
  public let number: Int
  /// Whether its file has all pages of the store; otherwise it has those that differ from the point before.
  public let isBase: Bool
  /// When it was made, in milliseconds since 1970.
  public let time: UInt64
  /// The last commit that it includes, and its random number.
  public let sequence: UInt64
  public let commitID: UInt64
  /// The site of the store.
  public let site: SiteID
  /// What the series belongs to, as the first backup named it; may be empty.
  public let label: String
  /// The name of its file in the series' directory, and the file's length.
  public let file: String
  public let fileBytes: Int
  /// The number of pages in its file, and those of the store.
  public let pageCount: Int
  public let storePageCount: Int
}

/// Which point of a backup series is meant.
public enum BackupMoment: Hashable, Sendable {
  /// The last one.
  case newest
  /// The last one that was made at this time, in milliseconds since 1970, or before.
  case time(UInt64)
  /// The last one that includes no later commit than this one.
  case sequence(UInt64)
  /// The one with this number.
  case number(Int)
}

extension BackupMoment: CustomStringConvertible {
  public var description: String {
    switch self {
    case .newest: "the newest point"
    case .time(let milliseconds): "a point made \(milliseconds) ms after 1970 or before"
    case .sequence(let sequence): "a point at the commit \(sequence) or before"
    case .number(let number): "the point \(number)"
    }
  }
}

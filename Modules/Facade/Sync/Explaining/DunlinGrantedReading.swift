/// How much of a collection a grant lets a device read, where that is less than all.
public enum DunlinGrantedReading: String, Hashable, Sendable {
  /// No document of the collection.
  case nothing
  /// Those documents that the rules allow, which may be all that a subscription asks for.
  case some
}

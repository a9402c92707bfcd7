/// One step of a path into a document.
public enum PathComponent: Hashable, Sendable {
  case key(TextKey)
  case index(Int)
}

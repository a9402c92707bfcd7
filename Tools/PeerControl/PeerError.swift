/// What a peer's process, or its end, could not do.
package struct PeerError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

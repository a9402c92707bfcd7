/// Whether the peer is to compare all anew, since not all that concerns it was sent by the rules of now.
enum Renewal: Equatable {
  case none
  /// It was told so, and a ping with this followed, which it has not answered.
  case told(UInt64)
  /// It knows, and has not begun.
  case heard
}

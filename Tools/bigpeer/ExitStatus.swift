/// How the program ends; `Documentation/BigPeer.md` has them for users, with those of the library that reads arguments.
enum ExitStatus {
  /// Something is damaged: apart from a failure to look.
  static let damaged: Int32 = 3
  /// The configuration has a mistake: trying again does not help.
  static let configuration: Int32 = 78
}

/// The exit statuses of the program.
///
/// `Documentation/BigPeer.md` lists them for users, with those of the library that parses arguments.
enum ExitStatus {
  /// Something is damaged: apart from a failure to look.
  static let damaged: Int32 = 3
  /// The configuration has a mistake: trying again does not help.
  static let configuration: Int32 = 78
}

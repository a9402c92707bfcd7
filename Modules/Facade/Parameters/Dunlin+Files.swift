extension Dunlin {
  /// The files of a database's directory that are copied together with its data.
  package static var carriedFiles: [String] { [KeptParameters.name] }

  /// The files that belong to the device and not to the data.
  ///
  /// They stay when a copy replaces the data.
  package static var ownFiles: [String] { [KeyFile.name] }
}

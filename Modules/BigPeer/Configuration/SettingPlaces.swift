#if Server
  /// Where each setting comes from: a line of a file, a flag or a variable.
  ///
  /// It is used for checks that are made once all settings are known. Settings are named by their paths, such
  /// as `applications[0].devices.listen[1]`.
  struct SettingPlaces: Sendable {
    private struct Place: Sendable {
      let text: String
      /// Whether the place is a flag or a variable, and so already names the setting.
      let isFlag: Bool
    }

    private var places: [String: Place] = [:]

    /// Records a setting on a line of a file; the path of the whole file is empty.
    mutating func record(_ path: String, file: String, line: Int) {
      places[path] = Place(text: "\(file):\(line)", isFlag: false)
    }

    /// Records a setting from a flag or a variable, which overrides the file.
    mutating func record(_ path: String, flag: String) { places[path] = Place(text: flag, isFlag: true) }

    /// Whether the setting, or an object that contains it, was set explicitly.
    func isSaid(_ path: String) -> Bool { place(of: path).map { !$0.path.isEmpty } ?? false }

    /// Makes the error for a mistake in a setting.
    ///
    /// - Parameters:
    ///   - path: The setting.
    ///   - message: One sentence without a full stop.
    /// - Returns: The error, with the place of the setting, or of the nearest enclosing object that was set.
    func fault(_ path: String, _ message: String) -> ConfigurationError {
      guard let (_, place) = place(of: path) else { return ConfigurationError(path, message) }
      return ConfigurationError(place.text, place.isFlag ? message : "\(path): \(message)")
    }

    private func place(of path: String) -> (path: String, place: Place)? {
      var path = path[...]
      while !path.isEmpty {
        if let place = places[String(path)] { return (String(path), place) }
        path = path.lastIndex { $0 == "." || $0 == "[" }.map { path[..<$0] } ?? ""
      }
      return places[""].map { ("", $0) }
    }
  }
#endif

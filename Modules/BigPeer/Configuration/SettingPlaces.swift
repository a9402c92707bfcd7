#if Server
  /// Where settings were said that are judged once all are known: a line of a file, a flag or a variable.
  struct SettingPlaces: Sendable {
    /// One of them, with what stands before a message about it.
    struct Place: Sendable {
      let place: String
      var prefix = ""
    }

    private var places: [String: Place] = [:]

    subscript(name: String) -> Place? {
      get { places[name] }
      set { places[name] = newValue }
    }

    /// A mistake in a setting.
    ///
    /// - Parameters:
    ///   - name: The setting.
    ///   - owner: Whose it is, where it was set by code.
    ///   - message: One sentence without a full stop.
    /// - Returns: The error, with the place where the setting was said.
    func fault(_ name: String, of owner: String, _ message: String) -> ConfigurationError {
      guard let place = places[name] else { return ConfigurationError(owner, "\(name): \(message)") }
      return ConfigurationError(place.place, place.prefix + message)
    }
  }
#endif

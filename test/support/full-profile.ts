/** What an account can say about its user, in the names of OpenID Connect Core §5.1. */
export const fullProfile = {
  name: 'Ada King',
  given_name: 'Ada',
  family_name: 'King',
  middle_name: 'Augusta',
  nickname: 'Countess',
  preferred_username: 'ada.king',
  profile: 'https://people.example.com/ada',
  picture: 'https://people.example.com/ada.png',
  website: 'https://ada.example.com/',
  gender: 'female',
  birthdate: '1915-12-10',
  zoneinfo: 'Europe/London',
  locale: 'en',
};
